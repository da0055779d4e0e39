// SPDX-License-Identifier: Apache-2.0
// Ruby 3.1 in a process: the first of its modules that defines the evaluation function.
#pragma once

#include <atomic>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/ruby/reader.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/splice.h"
#include "stack/interpreters/state_hints.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack::ruby {

class Ruby final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Ruby(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const override;
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Found {
    Reader reader;
    StateSearch search;
    StateHints hints;
    InterpreterPlace place;
    ScriptFrames frames;
  };

  Memory* memory_;
  char unreadable_[16] = "";
  base::MappedBlock<Found> found_;             // one; null while there is none
  std::atomic<const Found*> copied_{nullptr};  // the same, for CopyPieces()
};

}  // namespace lagwatch::stack::ruby
