// SPDX-License-Identifier: Apache-2.0
#include "tests/watchdog/candidate_workers.h"

namespace lagwatch::watchdog {

CandidateWorkers OptimizedWorkers() {
  struct Optimized;
  return WorkersOf<Optimized>::All();
}

}  // namespace lagwatch::watchdog
