// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "stack/threads/processor_clocks.h"

namespace lagwatch::stack {
namespace {

// The time when the thread last began or ceased to run, by the clock of its processor. Some kernels forget it
// when they move a thread to another one.
std::optional<int64_t> LastRunNs(const base::Thread& thread) {
  constexpr std::string_view kKey = "se.exec_start";
  char buffer[1024];
  const std::string text(base::ReadSmallFile(base::TaskPath(thread, "sched").c_str(), buffer, sizeof buffer));
  const size_t key = text.find(kKey);
  const size_t colon = text.find(':', std::min(key, text.size()));
  long long milliseconds = 0;
  long nanoseconds = 0;
  if (colon == std::string::npos ||
      std::sscanf(text.c_str() + colon + 1, "%lld.%6ld", &milliseconds, &nanoseconds) != 2)
    return std::nullopt;
  const int64_t ran_ns = milliseconds * base::kNsPerMs + nanoseconds;
  return ran_ns != 0 ? std::optional(ran_ns) : std::nullopt;
}

// The processor that it has run on last; -1 if it is not known.
int ProcessorOf(const base::Thread& thread) {
  constexpr int kProcessorField = 36;  // of proc_pid_stat(5), counted from the one after the thread's name
  char buffer[1024];
  std::string_view stat = base::ReadSmallFile(base::TaskPath(thread, "stat").c_str(), buffer, sizeof buffer);
  stat.remove_prefix(std::min(stat.size(), stat.rfind(") ") + 2));
  for (int i = 0; i < kProcessorField; ++i) stat.remove_prefix(std::min(stat.size(), stat.find(' ') + 1));
  uint64_t processor = 0;
  return base::ConsumeDecimal(&stat, &processor) ? static_cast<int>(processor) : -1;
}

std::optional<int64_t> ClockOf(int processor) {
  cpu_set_t before;
  cpu_set_t one;
  CPU_ZERO(&one);
  if (processor < 0 || processor >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0)
    return std::nullopt;
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) != 0) return std::nullopt;
  sched_yield();  // the kernel notes the time
  const std::optional<int64_t> clock_ns = LastRunNs({base::Process::Other(getpid()), gettid()});
  sched_setaffinity(0, sizeof before, &before);
  return clock_ns;
}

}  // namespace

std::optional<int64_t> ProcessorClocks::AsleepNs(const base::Thread& thread) {
  const std::optional<int64_t> ran_ns = LastRunNs(thread);
  const std::optional<int64_t> clock_ns = ClockAt(ProcessorOf(thread), base::SystemClock().MonoNs());
  if (!ran_ns || !clock_ns || *clock_ns < *ran_ns) return std::nullopt;
  return *clock_ns - *ran_ns;
}

std::optional<int64_t> ProcessorClocks::ClockAt(int processor, int64_t now_ns) {
  const auto known = ahead_ns_.find(processor);
  if (known != ahead_ns_.end()) return now_ns + known->second;
  const std::optional<int64_t> clock_ns = ClockOf(processor);
  if (clock_ns) ahead_ns_[processor] = *clock_ns - base::SystemClock().MonoNs();
  return clock_ns;
}

}  // namespace lagwatch::stack
