// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/probes/probe_reason.h"

#include <iterator>

namespace lagwatch::trace {

std::string_view ProbeTierText(ProbeTier tier) {
  constexpr std::string_view kTexts[] = {"none", "import tables", "one byte", "one instruction",
                                         "by padding"};
  return kTexts[static_cast<size_t>(tier)];
}

std::string_view ProbeReasonText(ProbeReason reason) {
  constexpr std::string_view kTexts[] = {
      "it can be probed",
      "this processor's code cannot be probed",
      "the system does not permit to change code",
      "no loaded file has code there",
      "its module is left alone: the loader, an unwinder, lagwatch, Go or a sanitizer",
      "it returns twice, switches stacks or starts threads",
      "no function begins there in the module's unwind table",
      "it is a part of another function",
      "its first instruction cannot be moved",
      "a loop goes back to its first instruction",
      "it reads its return address",
      "its code is not the file's",
      "no free memory is where a jump could lead",
      "its first bytes are those of a jump to another probe: end that one before",
      "no import table leads to it: probe the function itself, without call",
      "it has too many probes",
  };
  static_assert(std::size(kTexts) == static_cast<size_t>(ProbeReason::kTooManyProbes) + 1);
  return kTexts[static_cast<size_t>(reason)];
}

}  // namespace lagwatch::trace
