// SPDX-License-Identifier: Apache-2.0
// The CPU use of each thread of the process between two looks. Context: watchdog; not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/process/process.h"
#include "policies/cpu_load.h"

namespace lagwatch::watchdog {

class ThreadLoads {
 public:
  // Context: background; allocates room for `max_threads`: the load of further threads is not reported.
  explicit ThreadLoads(int32_t max_threads);

  // Looks at all threads of the process, and none of lagwatch's. False when there was no look to compare
  // with: busiest() is then empty. One system call a thread, no file but the list of threads; disturbs none.
  bool Look(const base::Process& process, int64_t now_ns);
  // The next look has none to compare with.
  void Forget() { has_baseline_ = false; }

  const policies::BusiestThreads& busiest() const { return busiest_; }
  // Between the last two looks.
  int64_t wall_ns() const { return wall_ns_; }

 private:
  struct Record {
    int32_t tid;
    int64_t cpu_ns;
  };

  // The thread's use at the look before; 0 for one that has begun since, -1 if unknown.
  int64_t CpuBefore(int32_t tid);

  size_t capacity_;
  std::unique_ptr<Record[]> before_;
  std::unique_ptr<Record[]> now_;
  size_t before_count_ = 0;
  size_t hint_ = 0;               // into before_: threads come in nearly the same order every time
  bool were_all_listed_ = false;  // at the look before
  bool has_baseline_ = false;
  int64_t last_look_ns_ = 0;
  int64_t wall_ns_ = 0;
  policies::BusiestThreads busiest_;
};

// The number of processors that the process may use: those that its affinity allows. At least 1. Context:
// watchdog (one system call).
int32_t CountUsableCores(const base::Process& process);

}  // namespace lagwatch::watchdog
