// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/known_faults.h"

#include "tests/unwind/unwinder_under_test.h"

namespace lagwatch::unwind_test {
namespace {

enum class Whose {
  kEverybodys,  // the unwind table is wrong, or there is none that could be right
  kOracles,
};

struct KnownFault {
  Whose whose;
  std::string_view case_name;  // each of these is part of the actual one
  std::string_view stop;
  std::string_view culprit;
  bool only_without_frame;
  bool only_without_index;
  const char* reason;
};

constexpr KnownFault kKnownFaults[] = {
    {Whose::kOracles, "", "", "", false, true,
     "libunwind needs the index of the tables, which gcc leaves out of static programs"},
    {Whose::kEverybodys, "dynamic frames", "Aligned", "", false, false,
     "gcc's table for a realigned frame does not say that `leave` has restored the frame pointer"},
    {Whose::kEverybodys, "coroutines", "context", "__start_context", false, false,
     "glibc's table takes the context that a coroutine continues in for its first function's return address"},
    {Whose::kEverybodys, "coroutines", "context", "context", false, false,
     "glibc's tables describe the context that is about to be entered before its stack is"},
    {Whose::kEverybodys, "assembly", "ZooAssembly", "ZooAssembly", true, false,
     "neither a table nor a frame pointer tells where the return address is"},
    {Whose::kEverybodys, "generated code", "no module", "no module", true, false,
     "neither a table nor a frame pointer tells where the return address is"},
    {Whose::kEverybodys, "", "_static+", "_static+", true, false,
     "the stubs of a static program's indirect functions have no table"},
    {Whose::kOracles, "assembly", "", "", false, false,
     "libunwind loses the frame pointer in code without tables"},
    {Whose::kOracles, "generated code", "", "", false, false,
     "libunwind loses the frame pointer in code without tables"},
};

bool Contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

const char* ReasonFor(const Disagreement& disagreement, std::string_view stop, std::string_view culprit) {
  bool is_oracle = kOracleIsUnderTest || disagreement.who == Who::kOracle;
  for (const KnownFault& fault : kKnownFaults) {
    if (Contains(disagreement.case_name, fault.case_name) && Contains(stop, fault.stop) &&
        Contains(culprit, fault.culprit) && (!fault.only_without_frame || !disagreement.has_frame) &&
        (!fault.only_without_index || disagreement.lacks_index) &&
        (is_oracle || fault.whose == Whose::kEverybodys)) {
      return fault.reason;
    }
  }
  return nullptr;
}

}  // namespace lagwatch::unwind_test
