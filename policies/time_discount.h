// SPDX-License-Identifier: Apache-2.0
// Finds time that must not be blamed on the program: the machine slept, the process was stopped, or the
// watchdog could not run. Context: watchdog; pure.
#pragma once

#include <cstdint>
#include <utility>

namespace lagwatch::policies {

struct DiscountedTime {
  int64_t suspended_ns = 0;  // the machine slept
  int64_t stopped_ns = 0;    // the process did not run: SIGSTOP, a frozen control group, a debugger
  int64_t late_ns = 0;       // the watchdog itself was ready to run, and got no processor
  int32_t debugger_pid = 0;  // the process's tracer; 0: none
  // The watchdog waited in the kernel while the process ran on: for the address space, as a rule, which the
  // program was changing. That is the program's own time.
  int64_t blocked_ns = 0;

  bool operator==(const DiscountedTime&) const = default;
  DiscountedTime& operator+=(const DiscountedTime& other) {
    suspended_ns += other.suspended_ns;
    stopped_ns += other.stopped_ns;
    late_ns += other.late_ns;
    blocked_ns += other.blocked_ns;
    if (other.debugger_pid != 0) debugger_pid = other.debugger_pid;
    return *this;
  }
  bool is_clean() const { return *this == DiscountedTime{}; }
};

// The watchdog thread's readings of itself, now and then.
struct SelfReading {
  int64_t mono_ns = 0;
  int64_t read_ns = 0;       // for how long the others were read from then on: they are of any moment within
  int64_t boot_ns = 0;       // CLOCK_BOOTTIME, which goes on while the machine sleeps
  int64_t cpu_ns = 0;        // that it has used, ever
  int64_t run_delay_ns = 0;  // how long it has been ready without a processor, ever; -1: not known
  int64_t waited_ns = 0;     // since the reading before, by its own will
};

// Whether a process (or a thread, with its waits for a processor) that used `cpu_ns` of CPU time on up
// to `parallel_threads` processors at once, within `interval_ns`, can have been stopped for
// `stopped_ns` of that. If it used much more than the rest of the interval allows, it was the watchdog
// alone that could not run.
constexpr bool CanHaveBeenStopped(int64_t stopped_ns, int64_t interval_ns, int64_t cpu_ns,
                                  int64_t parallel_threads) {
  return cpu_ns - (interval_ns - stopped_ns) * parallel_threads < stopped_ns / 8;
}

// Infers from one thread's own account what happened to the whole process. Time in which that thread neither
// ran, nor was ready to, nor wanted to wait is time in which it could not run: then nothing of the process
// did, and no loop is to blame. A reading is not of one moment, as the thread may lose its processor within:
// only what was lost whenever the clocks were read is taken off.
class TimeDiscount {
 public:
  // No account is exact, and no wake-up is quite on time: this much is tolerated.
  static constexpr int64_t kToleranceNs = 20'000'000;
  // A timer of a busy virtual machine is that late.
  static constexpr int64_t kStopToleranceNs = 50'000'000;

  // Returns the findings since the reading before, without `debugger_pid`.
  DiscountedTime Update(const SelfReading& reading) {
    DiscountedTime findings;
    const SelfReading before = std::exchange(last_, reading);
    if (before.mono_ns == 0) return findings;
    const int64_t longest_ns = reading.mono_ns + reading.read_ns - before.mono_ns;
    const int64_t shortest_ns = reading.mono_ns - (before.mono_ns + before.read_ns);
    const int64_t suspended_ns = (reading.boot_ns - before.boot_ns) - longest_ns;
    if (suspended_ns > kToleranceNs) findings.suspended_ns = suspended_ns;
    if (reading.run_delay_ns < 0 || before.run_delay_ns < 0) return findings;
    int64_t delay_ns = reading.run_delay_ns - before.run_delay_ns;
    if (delay_ns > kToleranceNs) findings.late_ns = delay_ns;
    int64_t stopped_ns = shortest_ns - (reading.cpu_ns - before.cpu_ns) - delay_ns - reading.waited_ns;
    if (stopped_ns > kStopToleranceNs) findings.stopped_ns = stopped_ns;
    return findings;
  }
  int64_t last_mono_ns() const { return last_.mono_ns; }

 private:
  SelfReading last_;
};

}  // namespace lagwatch::policies
