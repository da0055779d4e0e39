// SPDX-License-Identifier: Apache-2.0
// The time until every thread has gone on from where it was: what no thread can come to any more may be
// changed then. Context: background; for one thread.
#pragma once

#include <cstdint>
#include <vector>

namespace lagwatch::trace {

class GracePeriod {
 public:
  // Begins. The processors are to be synchronized before.
  GracePeriod();
  // Whether every thread has run since, or was in a system call.
  bool IsOver();

 private:
  struct Runner {
    int32_t tid;
    int64_t cpu_ns;
  };

  std::vector<Runner> runners_;  // that have not been seen to run
};

}  // namespace lagwatch::trace
