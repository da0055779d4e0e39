// SPDX-License-Identifier: Apache-2.0
// The part that all kinds of interpreters have in common: the one that was found in this process.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/splice.h"

namespace lagwatch::stack {

// `Found` has all that its stacks are read by; zeros are its beginning. A process has one of each kind, which
// is the first one that is found.
template <typename Found>
class FoundInterpreter : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit FoundInterpreter(Memory* memory) : memory_(memory) {}
  const char* unreadable() const override { return unreadable_; }
  void MoveTo(const base::Process&) override {
    copied_.store(nullptr, std::memory_order_relaxed);  // by its contract nothing reads it meanwhile
    found_.reset();
    unreadable_[0] = '\0';
  }

 protected:
  // Takes the memory for it, and keeps what `attach(Found*)` has made of that if it returns true.
  template <typename Attach>
  void Find(Attach attach) {
    auto found = base::MapBlock<Found>(1);
    if (found == nullptr || !attach(&found[0])) return;
    found_ = std::move(found);
    copied_.store(&found_[0], std::memory_order_release);  // pairs with for_copies()
  }
  // Null while there is none.
  Found* found() const { return found_.get(); }
  // The same, for CopyPieces(). Context: signal.
  const Found* for_copies() const { return copied_.load(std::memory_order_acquire); }  // pairs with Find()
  Memory* memory() const { return memory_; }

  static InterpreterPlace PlaceOf(const LoadedModule& loaded, uint64_t evaluation, uint32_t language) {
    return {loaded.index, evaluation - loaded.module.load_bias, language};
  }
  // Whether a thread with this native stack may run code of `module`. That may be beyond the end of a stack
  // that ends too early.
  static bool MayRun(const Stack& stack, uint32_t module) {
    return stack.completeness == Completeness::kIncomplete || Runs(stack, module);
  }
  static bool Runs(const Stack& stack, uint32_t module) {
    return std::ranges::any_of(stack.view(), [&](const Frame& frame) { return frame.module == module; });
  }

  char unreadable_[32] = "";

 private:
  Memory* memory_;
  base::MappedBlock<Found> found_;             // one; null while there is none
  std::atomic<const Found*> copied_{nullptr};  // the same
};

}  // namespace lagwatch::stack
