// SPDX-License-Identifier: Apache-2.0
// Perl 5.36 in a process: the first of its modules that defines the evaluation function.
#pragma once

#include "base/process/mapped_memory.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/perl/reader.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/splice.h"
#include "stack/interpreters/state_search.h"

namespace lagwatch::stack::perl {

class Perl final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Perl(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Found {
    Reader reader;
    StateSearch search;
    InterpreterPlace place;
    ScriptFrames frames;
  };

  Memory* memory_;
  char unreadable_[16] = "";
  base::MappedBlock<Found> found_;  // one; null while there is none
};

}  // namespace lagwatch::stack::perl
