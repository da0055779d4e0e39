// SPDX-License-Identifier: Apache-2.0
// Lua in a process: the first of its modules that exports the functions of Lua's C API.
#pragma once

#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/lua/embedded.h"
#include "stack/interpreters/lua/reader.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::lua {

class Lua final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Lua(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    lua_.AddTo(thread, code, stack);
  }
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const override {
    lua_.CopyPieces(registers, pieces);
  }
  const char* unreadable() const override { return unreadable_; }

 private:
  Memory* memory_;
  const char* unreadable_ = "";
  Embedded<Reader> lua_;
};

}  // namespace lagwatch::stack::lua
