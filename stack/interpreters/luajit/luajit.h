// SPDX-License-Identifier: Apache-2.0
// LuaJIT in a process: the first of its modules that exports LuaJIT's own function.
#pragma once

#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/lua/embedded.h"
#include "stack/interpreters/luajit/reader.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::luajit {

class LuaJit final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit LuaJit(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override {
    if (!lua_.has_begun() && loaded.exports.Find("luaJIT_setmode") != 0) lua_.Begin(loaded, code, memory_);
  }
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override {
    lua_.AddTo(thread, code, stack);
  }
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const override {
    lua_.CopyPieces(registers, pieces);
  }

 private:
  Memory* memory_;
  lua::Embedded<Reader> lua_;
};

}  // namespace lagwatch::stack::luajit
