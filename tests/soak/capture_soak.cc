// SPDX-License-Identifier: Apache-2.0
// Captures the threads of a program that does what programs do, for as long as one likes:
//   capture_soak [--captures N | --seconds S] [--threads N] [--most-eintr-pct P]
// Ends with one line of counts. Exits with 1, and says why, when captures hung, were noticed by the program,
// left something behind, or do not add up.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "stack/stack_capturer.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/soak/capture_loop.h"
#include "tests/soak/process_footprint.h"
#include "tests/soak/soak_worker.h"

namespace lagwatch::soak {
namespace {

struct Arguments {
  uint64_t captures = UINT64_MAX;
  double seconds = 20;
  uint32_t threads = 64;
  double most_eintr_pct = 5;  // of the signals sent
};

bool ParseArguments(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; i += 2) {
    std::string_view name = argv[i];
    if (i + 1 == argc) return false;
    if (name == "--captures") {
      arguments->captures = std::strtoull(argv[i + 1], nullptr, 10);
      arguments->seconds = 1e9;
    } else if (name == "--seconds") {
      arguments->seconds = std::strtod(argv[i + 1], nullptr);
    } else if (name == "--threads") {
      arguments->threads = static_cast<uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    } else if (name == "--most-eintr-pct") {
      arguments->most_eintr_pct = std::strtod(argv[i + 1], nullptr);
    } else {
      return false;
    }
  }
  return arguments->captures > 0 && arguments->seconds > 0 && arguments->threads > 0;
}

double Now() { return static_cast<double>(base::SystemClock().MonoNs()) / base::kNsPerSecond; }

// Ends the process, with a core to look at, when a thread makes no progress any more. Counts looks, not time:
// a virtual machine that was paused has not hung.
class HangDetector {
 public:
  static constexpr std::chrono::milliseconds kLookInterval{50};

  void Look(const std::string& who, const char* where, uint64_t progress) {
    constexpr int kMostLooks = 600;
    Entry& entry = entries_[who];
    if (entry.progress != progress) entry = {.progress = progress, .looks = 0};
    if (++entry.looks < kMostLooks) return;
    std::fprintf(stderr, "soak: %s has not moved in %d looks (%s)\n", who.c_str(), kMostLooks, where);
    std::abort();
  }

 private:
  struct Entry {
    uint64_t progress;
    int looks;
  };
  std::map<std::string, Entry> entries_;
};

class CaptureSoak {
 public:
  explicit CaptureSoak(const Arguments& arguments) : arguments_(arguments) {}

  // The number of reasons to fail, each of which it has printed.
  int Run() {
    files_before_ = ListOpenFiles();
    std::thread([] {}).join();  // with the first, sanitizers start one of their own
    threads_before_ = ListThreads().size();
    auto capturer = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value());
    if (!capturer.ok()) {
      Require(false, capturer.status().message());
      return failures_;
    }
    capturer_ = std::move(capturer).value();
    SoakUntilDone();
    capturer_ = nullptr;
    CheckNothingIsLeft();
    return failures_;
  }

 private:
  void SoakUntilDone() {
    std::vector<std::unique_ptr<SoakWorker>> workers;
    std::set<int> tids;
    for (uint32_t i = 0; i < arguments_.threads; ++i) {
      workers.push_back(std::make_unique<SoakWorker>(i, &diary_));
      tids.insert(workers.back()->tid());
    }
    CaptureLoop loop(capturer_.get(), tids);
    Watch(loop, workers);
    loop.Stop();
    for (auto& worker : workers) worker->Stop();
    alarm(60);  // a process that does not end then is killed
    workers.clear();
    alarm(0);
    PrintProgress(loop.tally(), "\n");
    CheckCounts(loop.tally());
    PrintCounts(loop.tally());
  }

  void Watch(const CaptureLoop& loop, const std::vector<std::unique_ptr<SoakWorker>>& workers) {
    const bool is_terminal = isatty(STDOUT_FILENO) != 0;
    double print_at = Now();
    HangDetector detector;
    for (double share = 0; share < 1; share = ShareDone(loop.tally())) {
      std::this_thread::sleep_for(HangDetector::kLookInterval);
      detector.Look("the capturing thread", "a capture", loop.tally().captures.value());
      for (size_t i = 0; i < workers.size(); ++i) {
        detector.Look("worker " + std::to_string(i), workers[i]->activity(), workers[i]->begun());
      }
      int64_t& peak = share < 0.25 ? early_peak_bytes_ : late_peak_bytes_;
      peak = std::max(peak, ResidentBytes());
      if (Now() < print_at) continue;
      PrintProgress(loop.tally(), is_terminal ? "\r" : "\n");
      print_at = Now() + (is_terminal ? 1 : 10);
    }
  }

  double ShareDone(const CaptureTally& tally) const {
    double by_captures =
        static_cast<double>(tally.captures.value()) / static_cast<double>(arguments_.captures);
    return std::max(by_captures, (Now() - start_) / arguments_.seconds);
  }

  void PrintProgress(const CaptureTally& tally, const char* end) const {
    std::printf("%4.0f s  %" PRIu64 " captures, %" PRIu64 " signals, %" PRIi64 " MiB%s", Now() - start_,
                tally.captures.value(), capturer_->counters().signals_sent.value(), ResidentBytes() >> 20,
                end);
    std::fflush(stdout);
  }

  void PrintCounts(const CaptureTally& tally) const {
    const stack::CaptureCounters& counters = capturer_->counters();
    std::printf("{\"seconds\":%.1f", Now() - start_);
    const std::pair<const char*, uint64_t> counts[] = {
        {"captures", tally.captures.value()},
        {"complete", tally.complete.value()},
        {"incomplete", tally.incomplete.value()},
        {"cut", tally.cut.value()},
        {"none", tally.none.value()},
        {"rootless", tally.rootless.value()},
        {"signals", counters.signals_sent.value()},
        {"sleepers_signalled", counters.sleepers_signalled.value()},
        {"timeouts", counters.signal_timeouts.value()},
        {"withheld", counters.signals_withheld.value()},
        {"drops", capturer_->modules().dropped_count()},
        {"modules", capturer_->modules().module_count()},
        {"eintr_seen", diary_.interrupted_calls.load()},
        {"early_peak_mib", static_cast<uint64_t>(early_peak_bytes_ >> 20)},
        {"late_peak_mib", static_cast<uint64_t>(late_peak_bytes_ >> 20)},
    };
    for (auto [name, count] : counts) std::printf(",\"%s\":%" PRIu64, name, count);
    std::printf("}\n");
  }

  void CheckCounts(const CaptureTally& tally) {
    const stack::CaptureCounters& counters = capturer_->counters();
    uint64_t captures = tally.captures.value();
    uint64_t unfinished = tally.incomplete.value() + tally.none.value();
    Require(captures > 0 && counters.signals_sent.value() > 0, "nothing was captured, or nobody by signal");
    Require(tally.complete.value() > captures / 2, "less than half of the stacks are complete");
    Require(counters.captures.value() == captures, "captures are counted differently");
    Require(tally.complete.value() + tally.cut.value() + unfinished == captures,
            "the outcomes do not add up");
    Require(counters.incomplete_stacks.value() == unfinished, "incomplete stacks are counted differently");
    Require(counters.signals_sent.value() <= captures, "more than one signal per capture");
    Require(counters.signal_timeouts.value() + counters.signals_withheld.value() <= unfinished,
            "a signal without an answer, yet a stack");
    Require(tally.invalid.value() == 0, "a stack with impossible numbers");
    Require(tally.rootless.value() == 0, "a complete stack without its beginning");
    Require(static_cast<double>(diary_.interrupted_calls) <=
                arguments_.most_eintr_pct / 100 * static_cast<double>(counters.signals_sent.value()),
            "calls of the program were interrupted");
    Require(diary_.failures == 0, "an activity failed");
    Require(late_peak_bytes_ - early_peak_bytes_ <= kMostGrowthBytes, "memory grows");
  }

  void CheckNothingIsLeft() {
    for (const std::string& file : ListOpenFiles()) {
      bool was_open = std::find(files_before_.begin(), files_before_.end(), file) != files_before_.end();
      Require(was_open, "left open: " + file);
    }
    // A joined thread may still be listed for a moment.
    for (double end = Now() + 10; ListThreads().size() > threads_before_ && Now() < end;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    Require(ListThreads().size() <= threads_before_, "threads are left");
  }

  void Require(bool holds, std::string_view otherwise) {
    if (holds) return;
    ++failures_;
    std::fprintf(stderr, "soak: %.*s\n", static_cast<int>(otherwise.size()), otherwise.data());
  }

#if defined(__SANITIZE_THREAD__)
  // The sanitizer keeps something of each thread that ended and of each address that was ever used.
  static constexpr int64_t kMostGrowthBytes = INT64_MAX;
#else
  // Of the peaks of all threads' heaps and stacks together.
  static constexpr int64_t kMostGrowthBytes = int64_t{64} << 20;
#endif

  const Arguments arguments_;
  const double start_ = Now();
  std::vector<std::string> files_before_;
  size_t threads_before_ = 0;
  std::unique_ptr<stack::StackCapturer> capturer_;
  Diary diary_;
  int64_t early_peak_bytes_ = 0;
  int64_t late_peak_bytes_ = 0;
  int failures_ = 0;
};

}  // namespace
}  // namespace lagwatch::soak

#if defined(__SANITIZE_ADDRESS__)
// Freed memory is kept for a while; little enough that memory stops growing soon.
extern "C" [[gnu::visibility("default")]] const char* __asan_default_options() {
  return "quarantine_size_mb=16";
}
#endif

int main(int argc, char** argv) {
  lagwatch::soak::Arguments arguments;
  if (!lagwatch::soak::ParseArguments(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: %s [--captures N | --seconds S] [--threads N] [--most-eintr-pct P]\n",
                 argv[0]);
    return 2;
  }
  return lagwatch::soak::CaptureSoak(arguments).Run() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
