// SPDX-License-Identifier: Apache-2.0
// Compares what two unwinders say of a stop with the truth, and keeps the account.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stack/code/module_map.h"
#include "stack/code/unwinder.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "tests/unwind/harness/call_record.h"
#include "tests/unwind/harness/context_copy.h"
#include "tests/unwind/harness/known_faults.h"

namespace lagwatch::unwind_test {

class Comparison {
 public:
  // Context: background; allocates all that it will ever need.
  Comparison();

  // To be called when the thread is on another stack than before: what the oracle read of the one behind a
  // signal handler's own is out of date. Context: any.
  void ForgetOtherStacks() { oracle_->OnModulesChanged(); }

  // Context: signal.
  void Compare(const char* case_name, const stack::RawStack& raw, const CallChain& truth);

  stack::ModuleMap* modules() { return &modules_; }
  void AwaitTables() { unwind_test::AwaitTables(modules_, ours_.get()); }

  // Prints agreement in percent and each disagreement, explained or not, with names. Returns whether nothing
  // is left unexplained. Context: background.
  bool Report(const char* program) const;

 private:
  class Names;

  bool LacksIndex(const CallChain& chain) const;
  bool CompareOne(const Disagreement& stop, const stack::Stack& stack, const CallChain& truth);
  void CompareFunctionStarts(const Disagreement& stop, const CallChain& truth);
  void Print(const Disagreement& disagreement, Names* names, const char* reason) const;
  void Note(const Disagreement& disagreement);

  stack::ModuleMap modules_;
  std::unique_ptr<stack::Unwinder> ours_;
  std::unique_ptr<stack::Unwinder> oracle_;
  std::unique_ptr<stack::Stack> our_stack_;
  std::unique_ptr<stack::Stack> oracle_stack_;
  std::vector<Disagreement> disagreements_;
  uint64_t stack_count_ = 0;
  uint64_t agreed_count_[kWhoCount] = {};
  uint64_t dropped_count_ = 0;
};

}  // namespace lagwatch::unwind_test
