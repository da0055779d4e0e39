// SPDX-License-Identifier: Apache-2.0
// The stacks of the scripts that run in this process, of all interpreters that are known.
#pragma once

#include <cstdint>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/python/reader.h"
#include "stack/interpreters/python/splice.h"
#include "stack/scripts/script_stacks.h"

namespace lagwatch::stack {

// Looks for interpreters when modules were loaded. Context: watchdog; not thread-safe.
class InterpreterStacks final : public ScriptStacks {
 public:
  // Asks `next`, too, which may be null. Borrowed.
  void SetNext(ScriptStacks* next) { next_ = next; }

  void AddTo(int tid, CodeMap* code, Stack* stack) override;
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Python {
    python::Reader reader;
    python::Place place;
    python::Frames frames;
  };
  void LookAtNewModules(CodeMap* code);
  // Notes an interpreter whose layout is not known.
  void NotePython(uint32_t version, int minor_hint);

  OwnMemory memory_;
  ScriptStacks* next_ = nullptr;
  uint32_t seen_modules_ = 0;
  char unreadable_[32] = "";
  base::MappedBlock<Python> python_;  // one; null while there is none
};

}  // namespace lagwatch::stack
