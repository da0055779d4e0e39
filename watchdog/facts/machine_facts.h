// SPDX-License-Identifier: Apache-2.0
// Facts of the machine that make all of its programs slow: throttled or slow processors, heat, a battery, a
// power profile. Files that are not there say nothing.
#pragma once

#include <cstdint>

#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// The processors: read from memory of the kernel's, in some 20 µs, for each report. Context: watchdog.
class ProcessorFacts {
 public:
  // `sys`: where sysfs is mounted; borrowed.
  explicit ProcessorFacts(const char* sys = "/sys") : sys_(sys) {}

  // Notes the throttlings so far, from which the next ones are counted.
  void Begin();
  // Of the processor that the thread ran on last; -1: not known. The facts borrow the texts until the next
  // call.
  void Add(int32_t processor, FactList* facts);

 private:
  int64_t CountThrottlings() const;

  const char* sys_;
  int64_t throttled_before_ = -1;  // -1: not known
  int64_t throttled_ = -1;         // as of the last count; -1: not known
  char governor_[24] = "";
  char preference_[32] = "";
  char profile_[24] = "";
};

// Temperatures, cooling and batteries: firmware is asked for some of them, which may take a while, so they
// are read when no report waits for it, and reports have them with their age.
class PowerFacts {
 public:
  explicit PowerFacts(const char* sys = "/sys") : sys_(sys) {}

  // Reads them, if the last time is a minute ago. Context: background, or watchdog after a report.
  void Refresh(int64_t now_ns);
  // Context: watchdog.
  void Add(int64_t now_ns, FactList* facts) const;

 private:
  static constexpr int64_t kFreshNs = 60 * base::kNsPerSecond;

  void ReadThermal();
  void ReadSupplies();
  void ReadSupply(const char* name);

  const char* sys_;
  int64_t read_ns_ = 0;  // 0: never
  int64_t hottest_c_ = -1000;
  int64_t cooling_permille_ = -1;  // of the device that cools processors most; -1: there is none
  int64_t battery_percent_ = -1;
  int64_t is_on_battery_ = -1;
};

}  // namespace lagwatch::watchdog
