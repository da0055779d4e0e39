// SPDX-License-Identifier: Apache-2.0
// Measures the cost of sampling threads: one main thread and 16 others, of which 12 sleep, every 10 ms.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "bench/trace/figures.h"
#include "stack/code_map.h"
#include "trace/record/recorder.h"

namespace lagwatch::bench {
namespace {

constexpr int kWorkers = 16;
constexpr int kSleepers = 12;
constexpr int64_t kMeasuredNs = 5 * base::kNsPerSecond;
constexpr int kDepth = 24;

// As deep as calls of real programs are.
[[gnu::noinline]] uint64_t SpinAt(int depth, const std::atomic<bool>& stopping) {
  if (depth > 0) return SpinAt(depth - 1, stopping) + 1;
  uint64_t work = 0;
  while (!stopping.load(std::memory_order_relaxed)) {
    for (int i = 0; i < 1000; ++i) work = work * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(work));
  }
  return work;
}
[[gnu::noinline]] uint64_t SleepAt(int depth, const std::atomic<bool>& stopping) {
  if (depth > 0) return SleepAt(depth - 1, stopping) + 1;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 500'000'000};
  while (!stopping.load()) nanosleep(&kPause, nullptr);
  return 0;
}

// CPU time of this process's threads whose names begin so.
int64_t CpuOfOurs() {
  int64_t cpu_ns = 0;
  for (const char* name : {"lagwatch"}) {
    FILE* list = popen(("ls /proc/" + std::to_string(getpid()) + "/task").c_str(), "r");
    int tid = 0;
    while (std::fscanf(list, "%d", &tid) == 1) {
      char comm[32] = {};
      FILE* file = std::fopen(("/proc/self/task/" + std::to_string(tid) + "/comm").c_str(), "r");
      if (file == nullptr) continue;
      const bool is_ours =
          std::fgets(comm, sizeof comm, file) != nullptr && std::string(comm).rfind(name, 0) == 0;
      std::fclose(file);
      if (is_ours) cpu_ns += std::max<int64_t>(base::ThreadCpuNs(tid), 0);
    }
    pclose(list);
  }
  return cpu_ns;
}

}  // namespace

void MeasureSampling(Figures* figures) {
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&stopping, i] {
      pthread_setname_np(pthread_self(), i < kSleepers ? "sleeper" : "worker");
      i < kSleepers ? SleepAt(kDepth, stopping) : SpinAt(kDepth, stopping);
    });
  }
  const auto arena = trace::Arena::CreatePrivate({});
  const auto code = stack::CodeMap::Create();
  if (arena == nullptr || !code.ok()) return;
  auto recorder = trace::Recorder::Start(arena.get(), *code, {});
  if (!recorder.ok()) {
    std::fprintf(stderr, "%s\n", recorder.status().message().c_str());
    return;
  }
  std::thread timer([&stopping, figures, &arena, &recorder] {
    constexpr timespec kWarmUp{.tv_sec = 1, .tv_nsec = 0};
    constexpr timespec kMeasured{.tv_sec = kMeasuredNs / base::kNsPerSecond, .tv_nsec = 0};
    nanosleep(&kWarmUp, nullptr);
    const trace::RecordCounters& counters = arena->header().counters;
    const int64_t cpu_before_ns = CpuOfOurs();
    const int64_t begin_ns = base::SystemClock().MonoNs();
    const uint64_t samples_before = counters.samples.value();
    const uint64_t extended_before = counters.extended.value();
    nanosleep(&kMeasured, nullptr);
    const auto cpu_ns = static_cast<double>(CpuOfOurs() - cpu_before_ns);
    const auto passed_ns = static_cast<double>(base::SystemClock().MonoNs() - begin_ns);
    const auto samples = static_cast<double>(counters.samples.value() - samples_before);
    const auto extended = static_cast<double>(counters.extended.value() - extended_before);
    std::fprintf(stderr,
                 "%.0f samples, %.0f of them of threads that had not run, %lu looks without an answer\n",
                 samples, extended, counters.no_answer.value());
    figures->emplace_back("sample_us_per_thread", cpu_ns / samples / 1e3);
    figures->emplace_back("sampling_cpu_pct", 100 * cpu_ns / passed_ns);
    stopping.store(true);
  });
  SpinAt(kDepth, stopping);
  timer.join();
  for (std::thread& thread : threads) thread.join();
  if (!(*recorder)->TryStop()) static_cast<void>(recorder->release());
}

}  // namespace lagwatch::bench
