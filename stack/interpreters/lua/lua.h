// SPDX-License-Identifier: Apache-2.0
// Lua in a process: the first of its modules that exports the functions of Lua's C API.
#pragma once

#include <atomic>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/lua/calls.h"
#include "stack/interpreters/lua/place.h"
#include "stack/interpreters/lua/reader.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/state_hints.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack::lua {

class Lua final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Lua(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const override;
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Found {
    Reader reader;
    StateSearch search;
    StateHints hints;
    Place place;
    Calls calls;
  };

  Memory* memory_;
  const char* unreadable_ = "";
  base::MappedBlock<Found> found_;             // one; null while there is none
  std::atomic<const Found*> copied_{nullptr};  // the same, for CopyPieces()
};

}  // namespace lagwatch::stack::lua
