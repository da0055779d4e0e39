// SPDX-License-Identifier: Apache-2.0
// CPython in a process: the first of its modules that defines the evaluation function.
#pragma once

#include <cstdint>
#include <optional>

#include "base/process/mapped_memory.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/python/reader.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/splice.h"

namespace lagwatch::stack::python {

class Python final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Python(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  std::optional<ScriptLock> FindLock(int /*tid*/, const FutexWait& futex) override {
    return found_ != nullptr ? found_[0].reader.FindLock(futex.address) : std::nullopt;
  }
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Found {
    Reader reader;
    InterpreterPlace place;
    ScriptFrames frames;
  };
  // Notes an interpreter whose layout is not known. `version` as Py_Version has it, 0 where it is missing.
  void Note(uint32_t version, int minor_hint);

  Memory* memory_;
  char unreadable_[32] = "";
  base::MappedBlock<Found> found_;  // one; null while there is none
};

}  // namespace lagwatch::stack::python
