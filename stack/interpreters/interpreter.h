// SPDX-License-Identifier: Apache-2.0
// One kind of interpreter: how it is found in a process, and how its frames come into stacks.
#pragma once

#include <cstdint>
#include <memory>

#include "stack/code/module_map.h"
#include "stack/code_map.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"
#include "stack/script_stacks.h"

namespace lagwatch::stack {

struct LoadedModule {
  uint32_t index;  // in the code map
  const Module& module;
  const ExportedSymbols& exports;
};

// Small until its interpreter is found; what it reads is taken from fault-proof Memory. Context: watchdog;
// not thread-safe.
class Interpreter : public ScriptStacks {
 public:
  // Begins to read the interpreter that `loaded` holds, if it is one of this kind and the first one. Each
  // module is shown once.
  virtual void LookAt(const LoadedModule& loaded, CodeMap* code) = 0;
  // Copies the memory of the calling thread's script frames that changes while the thread goes on, for a
  // later AddTo(); marks the pieces as whole if it has all of that. At the same time another thread may call
  // the other methods. Context: signal.
  virtual void CopyPieces(const Registers& /*registers*/, MemoryPieces* /*pieces*/) const {}
};

// One of each kind, with nothing found yet. `memory` is borrowed. Context: background.
std::unique_ptr<Interpreter> CreateFibers(Memory* memory);
std::unique_ptr<Interpreter> CreateGo(Memory* memory);
std::unique_ptr<Interpreter> CreateJvm(Memory* memory);
std::unique_ptr<Interpreter> CreateLua(Memory* memory);
std::unique_ptr<Interpreter> CreateLuaJit(Memory* memory);
std::unique_ptr<Interpreter> CreatePerl(Memory* memory);
std::unique_ptr<Interpreter> CreatePhp(Memory* memory);
std::unique_ptr<Interpreter> CreatePostgres(Memory* memory);
std::unique_ptr<Interpreter> CreatePython(Memory* memory);
std::unique_ptr<Interpreter> CreateRuby(Memory* memory);
std::unique_ptr<Interpreter> CreateV8(Memory* memory);

}  // namespace lagwatch::stack
