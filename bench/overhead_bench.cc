// SPDX-License-Identifier: Apache-2.0
// Measures the monitor's cost for a program: at start, when idle, and while it samples a busy loop without a
// pause: the watchdog thread's CPU and the loop's loss, together, in percent of one processor.
//
// Prints dispatch_pair_ns against tick_pair_ns; cpu_pct_at_50ms, cpu_pct_at_10ms and cpu_pct_at_1ms, of which
// floor_pct_at_… is the cost of a thread that wakes as often and sends a signal to an empty handler, which
// takes floor_stolen_pct_at_… from the loop; idle_wakeups_per_s, rss_kib, start_us.
#include <dirent.h>
#include <lagwatch/c.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/process/sleeper.h"
#include "base/ticks.h"
#include "stack/signal/signal_handler.h"
#include "stack/unwind/table_unwinder.h"
#include "watchdog/watchdog.h"

namespace {

using namespace lagwatch;
using base::kNsPerMs;
using base::kNsPerSecond;

constexpr int kDepth = 33;
constexpr int64_t kMeasureNs = 6 * kNsPerSecond;
constexpr int64_t kIdleNs = 6 * kNsPerSecond;

int64_t NowNs() { return base::SystemClock().MonoNs(); }

void SleepNs(int64_t ns) { usleep(static_cast<useconds_t>(ns / 1000)); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int64_t NumberAfter(const std::string& text, const std::string& name) {
  size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size());
}

int64_t RssKib() { return NumberAfter(ReadFile("/proc/self/status"), "VmRSS:"); }

// Of the monitor's own threads, by their names.
template <typename Visit>
void ForEachOwnThread(Visit visit) {
  base::ForEachThread(base::Process::Own(), [&](int tid) {
    std::string task = "/proc/self/task/" + std::to_string(tid) + "/";
    if (ReadFile(task + "comm").starts_with("lagwatch")) visit(tid, task);
    return true;
  });
}

int64_t OwnWakeups() {
  int64_t wakeups = 0;
  ForEachOwnThread([&](int, const std::string& task) {
    wakeups += NumberAfter(ReadFile(task + "status"), "\nvoluntary_ctxt_switches:");
  });
  return wakeups;
}

int64_t OwnCpuNs() {
  int64_t cpu_ns = 0;
  ForEachOwnThread([&](int tid, const std::string&) { cpu_ns += base::ThreadCpuNs(tid); });
  return cpu_ns;
}

class NullSink final : public watchdog::HangSink {
 public:
  bool OnHang(const watchdog::HangEvent&) override { return true; }
  void OnHangEnd(const base::Uuid&, int64_t) override {}
  void OnRoundDone() override {}
};

// Signals of the floor that its empty handler has answered.
std::atomic<uint64_t> floor_answers{0};

// A dispatch that never ends, at the end of so many calls; it knows what it lost to captures: the gaps in
// which one was asked for or answered.
class BusyLoop {
 public:
  explicit BusyLoop(watchdog::LoopRegistry* registry)
      : thread_([this, registry] {
          watchdog::WatchedLoop* loop = registry->Add("busy", gettid());
          loop->probe.Begin("spin");
          Descend(kDepth);
          loop->probe.End();
          registry->Remove(loop);
        }) {}
  ~BusyLoop() {
    stop_ = true;
    thread_.join();
  }
  uint64_t lost_ticks() const { return lost_ticks_.load(); }
  // Waits until it spins.
  int tid() const {
    while (tid_.load() == 0) SleepNs(kNsPerMs);
    return tid_.load();
  }

 private:
  [[gnu::noinline]] void Descend(int depth) {
    if (depth > 0) {
      Descend(depth - 1);
    } else {
      Spin();
    }
    asm volatile("");
  }
  void Spin() {
    constexpr uint64_t kShortestGap = 2'000;
    constexpr uint64_t kLongestGap = 400'000;  // longer ones are other threads' turns
    tid_ = gettid();
    auto read_request = [] {
      const stack::CaptureSlot* slot = stack::g_capture_slots.slots[0].load();
      return slot->request.load(std::memory_order_relaxed) + floor_answers.load(std::memory_order_relaxed);
    };
    uint64_t last = base::ReadTicks();
    uint64_t last_request = read_request();
    bool was_for_capture = false;  // a gap may lie before the clock is read, or after
    while (!stop_.load(std::memory_order_relaxed)) {
      const uint64_t now = base::ReadTicks();
      const uint64_t gap = now - std::exchange(last, now);
      const uint64_t request = read_request();
      const bool is_for_capture = std::exchange(last_request, request) != request;
      const bool is_near_capture = std::exchange(was_for_capture, is_for_capture) || is_for_capture;
      if (is_near_capture && gap > kShortestGap && gap < kLongestGap)
        lost_ticks_.store(lost_ticks_.load(std::memory_order_relaxed) + gap, std::memory_order_relaxed);
    }
  }

  std::atomic<bool> stop_{false};
  std::atomic<int> tid_{0};
  std::atomic<uint64_t> lost_ticks_{0};
  std::thread thread_;
};

double TicksPerNs() {
  int64_t begin_ns = NowNs();
  uint64_t begin_ticks = base::ReadTicks();
  SleepNs(100 * kNsPerMs);
  return static_cast<double>(base::ReadTicks() - begin_ticks) / static_cast<double>(NowNs() - begin_ns);
}

struct Cost {
  double watchdog_pct;
  double stolen_pct;
  uint64_t samples;
  double total_pct() const { return watchdog_pct + stolen_pct; }
};

Cost MeasureSampling(int64_t interval_ns, double ticks_per_ns) {
  watchdog::LoopRegistry registry;
  NullSink sink;
  auto capturer = stack::StackCapturer::Create({}, stack::CreateTableUnwinder().value()).value();
  watchdog::WatchOptions options;
  options.sample_interval_ns = interval_ns;
  // The window before the next check is always open.
  options.threshold_ns = 2 * interval_ns * options.ring_size;
  options.check_period_ns = interval_ns * options.ring_size;
  options.recheck_cap_ns = options.check_period_ns;
  watchdog::Watchdog dog(options, &registry, capturer.get(), &sink);
  if (!dog.Start().ok()) std::abort();
  Cost cost{};
  {
    BusyLoop loop(&registry);
    SleepNs(2 * options.threshold_ns + kNsPerSecond);
    int64_t begin_ns = NowNs();
    int64_t cpu_ns = OwnCpuNs();
    uint64_t lost = loop.lost_ticks();
    uint64_t samples = dog.counters().samples.value();
    SleepNs(kMeasureNs);
    auto wall_ns = static_cast<double>(NowNs() - begin_ns);
    cost.watchdog_pct = 100.0 * static_cast<double>(OwnCpuNs() - cpu_ns) / wall_ns;
    double lost_ns = static_cast<double>(loop.lost_ticks() - lost) / ticks_per_ns;
    cost.stolen_pct = 100.0 * lost_ns / wall_ns;
    cost.samples = dog.counters().samples.value() - samples;
  }
  if (!dog.TryStop()) std::abort();
  return cost;
}

// The floor of any sampler that interrupts: a thread that wakes, sends a signal to the busy one and waits
// until its empty handler has run; and its cost for the busy one.
Cost MeasureFloor(int64_t interval_ns, double ticks_per_ns) {
  struct sigaction answer {};
  answer.sa_handler = [](int) { floor_answers.fetch_add(1, std::memory_order_release); };
  sigaction(SIGRTMIN, &answer, nullptr);
  watchdog::LoopRegistry registry;
  BusyLoop loop(&registry);
  Cost floor{};
  std::thread sampler([&] {
    base::Sleeper sleeper;
    const int tid = loop.tid();
    const int64_t cpu_ns = base::ThreadCpuNs(gettid());
    const uint64_t lost = loop.lost_ticks();
    const int64_t begin_ns = NowNs();
    for (int64_t next_ns = begin_ns; next_ns < begin_ns + kMeasureNs; next_ns += interval_ns) {
      sleeper.SleepUntil(next_ns);
      const uint64_t request = floor_answers.load() + 1;
      tgkill(getpid(), tid, SIGRTMIN);
      while (floor_answers.load(std::memory_order_acquire) != request) {
      }
    }
    const auto wall_ns = static_cast<double>(NowNs() - begin_ns);
    floor.watchdog_pct = 100.0 * static_cast<double>(base::ThreadCpuNs(gettid()) - cpu_ns) / wall_ns;
    floor.stolen_pct = 100.0 * static_cast<double>(loop.lost_ticks() - lost) / ticks_per_ns / wall_ns;
  });
  sampler.join();
  return floor;
}

template <typename Work>
double LeastNs(Work work) {
  constexpr int kRounds = 200;
  constexpr int kTurns = 20'000;
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    int64_t begin_ns = NowNs();
    for (int i = 0; i < kTurns; ++i) work();
    least = std::min(least, static_cast<double>(NowNs() - begin_ns) / kTurns);
  }
  return least;
}

struct Idle {
  double dispatch_pair_ns;
  double tick_pair_ns;
  double wakeups_per_s;
  int64_t rss_kib;
  double start_us;
};

Idle MeasureThroughTheLibrary() {
  char spool[] = "/tmp/lagwatch-bench-XXXXXX";
  if (mkdtemp(spool) == nullptr) std::abort();
  lw_options options;
  lw_options_init(&options);
  options.spool_directory = spool;
  Idle idle{};
  int64_t rss_kib = RssKib();
  int64_t begin_ns = NowNs();
  if (lw_start(&options) != LW_OK) {
    std::fprintf(stderr, "the monitor is off: %s\n", lw_why_off());
    std::exit(1);
  }
  idle.start_us = static_cast<double>(NowNs() - begin_ns) / 1000;
  lw_loop* loop = lw_watch_loop("bench");
  idle.tick_pair_ns = LeastNs([] {
    uint64_t first = base::ReadTicks();
    uint64_t second = base::ReadTicks();
    asm volatile("" : : "r"(first), "r"(second) : "memory");
  });
  idle.dispatch_pair_ns = LeastNs([loop] {
    lw_dispatch_begin(loop, "bench");
    lw_dispatch_end(loop);
  });
  idle.rss_kib = RssKib() - rss_kib;
  SleepNs(3 * kNsPerSecond);  // it goes to sleep after two quiet looks
  int64_t wakeups = OwnWakeups();
  SleepNs(kIdleNs);
  idle.wakeups_per_s = static_cast<double>(OwnWakeups() - wakeups) / (kIdleNs / kNsPerSecond);
  lw_stop(0);
  std::filesystem::remove_all(spool);
  return idle;
}

}  // namespace

int main() {
  Idle idle = MeasureThroughTheLibrary();
  double ticks_per_ns = TicksPerNs();
  Cost costs[3];
  Cost floors[3];
  const int64_t intervals_ms[] = {50, 10, 1};
  for (int i = 0; i < 3; ++i) {
    costs[i] = MeasureSampling(intervals_ms[i] * kNsPerMs, ticks_per_ns);
    floors[i] = MeasureFloor(intervals_ms[i] * kNsPerMs, ticks_per_ns);
    std::printf("every %2" PRId64
                " ms: watchdog %.3f %% (floor %.3f %%), stolen %.3f %% (floor %.3f %%), %" PRIu64
                " samples in %d s\n",
                intervals_ms[i], costs[i].watchdog_pct, floors[i].watchdog_pct, costs[i].stolen_pct,
                floors[i].stolen_pct, costs[i].samples, static_cast<int>(kMeasureNs / kNsPerSecond));
  }
  std::printf(
      "{\"dispatch_pair_ns\":%.2f,\"tick_pair_ns\":%.2f,\"cpu_pct_at_50ms\":%.3f,\"cpu_pct_at_10ms\":%.3f,"
      "\"cpu_pct_at_1ms\":%.3f,\"floor_pct_at_50ms\":%.3f,\"floor_pct_at_10ms\":%.3f,\"floor_pct_at_1ms\":%."
      "3f,"
      "\"floor_stolen_pct_at_50ms\":%.3f,\"floor_stolen_pct_at_10ms\":%.3f,\"floor_stolen_pct_at_1ms\":%.3f,"
      "\"idle_wakeups_per_s\":%.2f,\"rss_kib\":%" PRId64 ",\"start_us\":%.0f}\n",
      idle.dispatch_pair_ns, idle.tick_pair_ns, costs[0].total_pct(), costs[1].total_pct(),
      costs[2].total_pct(), floors[0].watchdog_pct, floors[1].watchdog_pct, floors[2].watchdog_pct,
      floors[0].stolen_pct, floors[1].stolen_pct, floors[2].stolen_pct, idle.wakeups_per_s, idle.rss_kib,
      idle.start_us);
}
