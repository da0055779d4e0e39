// SPDX-License-Identifier: Apache-2.0
// Plays one case: runs of a program in processes that are killed, the machine that is switched off, files
// that are damaged, requests that are lost; and at last a run with which all is well.
#pragma once

#include <cstdint>
#include <string>

#include "tests/faults/client_process.h"

namespace lagwatch::faults {

struct CaseTotals {
  uint64_t reports = 0;
  uint64_t stored = 0;
  uint64_t lost = 0;
  uint64_t requests = 0;
  uint64_t kills = 0;
  uint64_t power_cuts = 0;
};

// Returns the error; empty without one.
std::string PlayCase(uint64_t seed, Sabotage sabotage, CaseTotals* totals);

}  // namespace lagwatch::faults
