// SPDX-License-Identifier: Apache-2.0
// PHP 8.2 in a process: the first of its modules that defines the evaluation function.
#pragma once

#include "base/process/mapped_memory.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/php/reader.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/splice.h"

namespace lagwatch::stack::php {

class Php final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Php(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Found {
    Reader reader;
    Reader::Version version;
    InterpreterPlace place;
    ScriptFrames frames;
  };

  Memory* memory_;
  const char* unreadable_ = "";
  base::MappedBlock<Found> found_;  // one; null while there is none
};

}  // namespace lagwatch::stack::php
