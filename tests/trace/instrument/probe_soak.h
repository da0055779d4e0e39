// SPDX-License-Identifier: Apache-2.0
// Arms and disarms probes again and again in a process whose threads throw, jump, fork, are cancelled, load
// and unload libraries, recurse and switch stacks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::trace {

struct SoakTotals {
  uint64_t cycles = 0;
  uint64_t functions = 0;  // armed at once
  uint64_t refused = 0;    // of those that were listed as free to probe
  std::string_view last_refusal;
  uint64_t operations = 0;     // of the threads
  uint64_t wrong_results = 0;  // of these
  uint64_t hits_made = 0;      // of a function that only the arming thread calls
  uint64_t hits_counted = 0;
  uint64_t returns_counted = 0;
  uint64_t other_hits = 0;       // of all other functions
  uint64_t differing_bytes = 0;  // between the code of all modules and their files, afterwards
};

// `others`: functions to probe, too. `library`: is loaded and unloaded; it has FirstPatchedFlow(). Leaves out
// what the process's sanitizer could not bear.
SoakTotals SoakProbes(FunctionProber* prober, uint64_t cycles, const std::vector<uint64_t>& others,
                      const char* library);

// The process's; never destroyed.
FunctionProber& Prober();

}  // namespace lagwatch::trace
