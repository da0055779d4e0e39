// SPDX-License-Identifier: Apache-2.0
// CPython in a process: the first of its modules that defines the evaluation function.
#pragma once

#include <array>
#include <atomic>
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
  void CopyPieces(const Registers& registers, MemoryPieces* pieces) const override;
  std::optional<ScriptLock> FindLock(int /*tid*/, const FutexWait& futex) override {
    return found_ != nullptr ? found_[0].reader.FindLock(futex.address) : std::nullopt;
  }
  ScriptTask FindTask(uint64_t number) override;
  const char* unreadable() const override { return unreadable_; }

 private:
  static constexpr uint64_t kMostTasks = 256;

  struct Found {
    Reader reader;
    InterpreterPlace place;
    ScriptFrames frames;
    // The tasks of the last stacks, by number.
    uint64_t last_task;
    std::array<TaskText, kMostTasks> tasks;
  };
  // Puts the number of the task that the thread runs into `stack`. To be called after its frames were read.
  void AddTask(CodeMap* code, Stack* stack);
  // Notes an interpreter whose layout is not known. `version` as Py_Version has it, 0 where it is missing.
  void Note(uint32_t version, int minor_hint, bool is_free_threaded);

  Memory* memory_;
  char unreadable_[32] = "";
  base::MappedBlock<Found> found_;             // one; null while there is none
  std::atomic<const Found*> copied_{nullptr};  // the same, for CopyPieces()
};

}  // namespace lagwatch::stack::python
