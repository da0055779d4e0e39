// SPDX-License-Identifier: Apache-2.0
// Whether verdicts are right: known stalls, run again and again under the real watchdog at small thresholds,
// against the words that their reports get: recipes, runs (of each), accuracy_pct, confusion. A recipe that
// this machine does not permit is skipped and named; all of them need root (control groups). With --load, a
// spinner of the lowest priority keeps one processor busy meanwhile.
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/verdict/recipes.h"
#include "policies/verdict.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/watchdog.h"

namespace {

using namespace lagwatch;
using namespace lagwatch::bench;
using policies::VerdictWord;

constexpr int kDefaultRuns = 10;
// The verdict on one run of `recipe`; none when there was no report.
std::optional<policies::Verdict> Run(const Recipe& recipe, watchdog::LoopRegistry* registry,
                                     VerdictSink* sink) {
  sink->Forget();
  auto is_over = std::make_shared<std::atomic<bool>>(false);
  auto loop_place = std::make_shared<std::atomic<watchdog::WatchedLoop*>>(nullptr);
  // By value what outlives this call where a thread cannot end.
  std::thread thread([recipe, registry, sink, is_over, loop_place] {
    watchdog::WatchedLoop* loop = registry->Add(recipe.name, gettid());
    *loop_place = loop;
    Stall stall(*sink);
    loop->probe.Begin(recipe.name);
    recipe.run(stall);
    loop->probe.End();
    *is_over = true;
  });
  int64_t deadline_ns = NowNs() + 2 * kDeadlineNs;
  bool can_end = recipe.expected != VerdictWord::kDeadlock;
  while (!(can_end ? is_over->load() : sink->verdict().has_value()) && NowNs() < deadline_ns) SleepMs(5);
  if (can_end) {
    thread.join();
  } else {
    thread.detach();
  }
  registry->Remove(*loop_place);
  return sink->verdict();
}

std::string SharesText(const policies::TimeShares& shares) {
  auto percent = [&](int64_t ns) {
    return shares.wall_ns == 0 ? 0.0 : 100.0 * static_cast<double>(ns) / static_cast<double>(shares.wall_ns);
  };
  std::string text;
  for (const policies::TimeShare& share : policies::kTimeShares) {
    const double share_percent = percent(shares.*share.ns);
    char number[64];
    std::snprintf(number, sizeof number, " %s %.0f", share.label, share_percent);
    if (share_percent >= 0.5) text += number;
  }
  return text;
}

// The median cost of a look at a thread, `before` being an earlier one or null, `files` those kept
// open or null.
double MedianLookUs(int tid, const policies::ThreadLook* before, const stack::ThreadFiles* files) {
  std::vector<int64_t> costs_ns;
  for (int i = 0; i < 2000; ++i) {
    policies::ThreadLook look;
    int64_t begin_ns = NowNs();
    watchdog::LookAtThread(base::OwnThread(tid), before, &look, files);
    costs_ns.push_back(NowNs() - begin_ns);
  }
  std::sort(costs_ns.begin(), costs_ns.end());
  return static_cast<double>(costs_ns[costs_ns.size() / 2]) / 1000;
}

void PrintLookCosts() {
  std::atomic<bool> stop{false};
  std::atomic<int> spinning_tid{0};
  std::atomic<int> waiting_tid{0};
  std::mutex mutex;
  mutex.lock();
  std::thread spinning([&] {
    spinning_tid = gettid();
    while (!stop.load()) {
    }
  });
  std::thread waiting([&] {
    waiting_tid = gettid();
    std::lock_guard lock(mutex);
  });
  SleepMs(50);
  policies::ThreadLook before;
  watchdog::LookAtThread(base::OwnThread(waiting_tid), nullptr, &before);
  // This process has no hang that a test could disturb: its own table of descriptors serves.
  stack::ThreadFiles files;
  files.Allow();
  for (int tid : {waiting_tid.load(), spinning_tid.load()}) {
    files.Keep(base::OwnThread(tid));
    files.KeepAll(base::OwnThread(tid));
  }
  std::printf("a look takes, with files opened for it and with files kept open, at a thread that\n");
  auto print = [&](const char* what, int tid, const policies::ThreadLook* earlier) {
    const double opened_us = MedianLookUs(tid, earlier, nullptr);
    std::printf("  %-15s  %5.1f us  %5.1f us\n", what, opened_us, MedianLookUs(tid, earlier, &files));
  };
  print("has slept since", waiting_tid, &before);
  print("runs", spinning_tid, nullptr);
  print("has run, sleeps", waiting_tid, nullptr);
  for (int tid : {waiting_tid.load(), spinning_tid.load()}) files.Release(tid);
  stop = true;
  mutex.unlock();
  spinning.join();
  waiting.join();
}

// Other load of this machine must not starve the stalls. Each session has a share of the processors, and a
// priority of its own, where the kernel groups them.
void TakePriority() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a session of its own hears of no Ctrl-C
  setsid();
  WriteFile("/proc/self/autogroup", "-15");
  setpriority(PRIO_PROCESS, 0, -15);
}

}  // namespace

int main(int argc, char** argv) {
  int runs = kDefaultRuns;
  bool is_loaded = false;
  bool is_verbose = false;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--load") is_loaded = true;
    if (argument == "--verbose") is_verbose = true;
    if (argument == "--runs" && i + 1 < argc) runs = std::atoi(argv[++i]);
    if (argument == "--only" && i + 1 < argc) only = argv[++i];
  }
  TakePriority();
  std::atomic<bool> stop{false};
  std::thread load;
  if (is_loaded) {
    load = std::thread([&] {
      setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);
      while (!stop.load()) {
      }
    });
  }

  watchdog::WatchOptions options;
  options.threshold_ns = kThresholdNs;
  options.sample_interval_ns = kSampleIntervalNs;
  auto registry = std::make_unique<watchdog::LoopRegistry>();
  VerdictSink sink;
  auto unwinder = stack::CreateTableUnwinder();
  if (!unwinder.ok()) return 1;
  auto capturer = stack::StackCapturer::Create({}, std::move(unwinder).value());
  if (!capturer.ok()) return 1;
  std::unique_ptr<stack::StackCapturer> owned_capturer = std::move(capturer).value();
  watchdog::Watchdog watchdog(options, registry.get(), owned_capturer.get(), &sink);
  if (!watchdog.Start().ok()) return 1;

  std::unique_ptr<ThreadGroup> quota = CreateQuotaGroup();
  std::unique_ptr<ThreadGroup> slow_disk = CreateSlowDiskGroup();
  if (!slow_disk->is_usable())
    std::printf("the disk is as fast as it is: no control group can slow it down\n");
  int recipe_count = 0;
  int run_count = 0;
  int right_count = 0;
  std::string confusion;
  std::printf("%-10s %-9s  verdicts\n", "recipe", "expected");
  for (const Recipe& recipe : AllRecipes(*quota, *slow_disk)) {
    if (!only.empty() && only != recipe.name) continue;
    if (!recipe.impossible.empty()) {
      std::printf("%-10s %-9s  skipped: %s\n", recipe.name, VerdictName(recipe.expected),
                  recipe.impossible.c_str());
      continue;
    }
    std::map<std::string, int> words;
    std::string shares;
    for (int run = 0; run < runs; ++run) {
      std::optional<policies::Verdict> verdict = Run(recipe, registry.get(), &sink);
      ++words[verdict ? VerdictName(verdict->word) : "(no report)"];
      bool is_right = verdict && verdict->word == recipe.expected;
      right_count += is_right ? 1 : 0;
      if (verdict && (!is_right || run == 0 || is_verbose)) {
        shares += "             " + std::string(VerdictName(verdict->word)) + ":" +
                  SharesText(verdict->shares) + "\n";
      }
    }
    ++recipe_count;
    run_count += runs;
    std::printf("%-10s %-9s ", recipe.name, VerdictName(recipe.expected));
    confusion += std::string(confusion.empty() ? "" : ",") + "\"" + recipe.name + "\":{";
    const char* separator = "";
    for (const auto& [word, count] : words) {
      std::printf(" %s %d", word.c_str(), count);
      confusion += separator + ("\"" + word + "\":") + std::to_string(count);
      separator = ",";
    }
    confusion += "}";
    std::printf("\n%s", shares.c_str());
    std::fflush(stdout);
  }
  bool is_stopped = watchdog.TryStop();
  stop = true;
  if (load.joinable()) load.join();

  PrintLookCosts();
  std::printf("{\"recipes\":%d,\"runs\":%d,\"accuracy_pct\":%.1f,\"confusion\":{%s}}\n", recipe_count, runs,
              run_count == 0 ? 0.0 : 100.0 * right_count / run_count, confusion.c_str());
  std::fflush(stdout);
  quota.reset();
  slow_disk.reset();
  // The threads of deadlocks are still there.
  std::_Exit(is_stopped ? 0 : 1);
}
