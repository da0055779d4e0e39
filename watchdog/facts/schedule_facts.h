// SPDX-License-Identifier: Apache-2.0
// The scheduling of a watched thread, and what has changed of it since it was last looked at. Context:
// watchdog.
#pragma once

#include <cstdint>

#include "base/process/process.h"
#include "stack/code_map.h"
#include "watchdog/spans/span_source.h"

namespace lagwatch::watchdog {

// A thread's scheduling at one moment.
struct Schedule {
  bool is_known = false;
  int64_t nice = 0;
  int64_t realtime_priority = 0;
  const char* policy = "";      // as in reports; empty: not known
  int32_t last_processor = -1;  // that it ran on
  int32_t processors = 0;       // that its affinity allows; 0: not known
  uint64_t affinity_hash = 0;   // of the set of these
  char group[160] = {};         // its control group; cut; empty: not known
};

// Reads two small files of /proc and asks for the affinity: some 20 µs.
Schedule ReadSchedule(const base::Thread& thread);

void AddSchedule(const Schedule& schedule, FactList* facts);

// Follows one thread. Not thread-safe.
class ScheduleWatch {
 public:
  // Another thread is followed, from `now_ns` on.
  void Begin(int64_t now_ns) {
    last_.is_known = false;
    since_ns_ = now_ns;
  }
  // To be called at looks: reads the first state once the thread is a second old. Many are not.
  void Look(const base::Thread& thread, int64_t now_ns) {
    if (!last_.is_known && now_ns - since_ns_ >= kYoungNs) Keep(ReadSchedule(thread), now_ns);
  }
  // Adds what has changed since the last call, the first look or, where calls of the process have changed it,
  // since Begin(). The facts borrow the texts until the next call.
  void AddChanges(const Schedule& now, const base::Thread& thread, int64_t now_ns, stack::CodeMap* code,
                  FactList* facts);

 private:
  static constexpr int64_t kYoungNs = 1 * base::kNsPerSecond;

  void Keep(const Schedule& schedule, int64_t now_ns) {
    last_ = schedule;
    since_ns_ = now_ns;
  }
  void AddCaller(const base::Thread& thread, int64_t now_ns, stack::CodeMap* code, FactList* facts);

  Schedule last_;
  Schedule before_;
  int64_t since_ns_ = 0;
  char caller_[256] = "";
};

}  // namespace lagwatch::watchdog
