// SPDX-License-Identifier: Apache-2.0
// Reads the frames of Perl 5.36. Source: intrpvar.h, cop.h, cv.h, gv.h and hv.h of Perl, on 64-bit systems,
// in builds with threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/code/script_functions.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::perl {

// The part of a file's path that is the same on all machines: below a library's directory, else its name.
std::string_view StablePath(std::string_view path);

// Reads only; every address is checked, because the interpreter may go on while it is read. Context:
// watchdog; not thread-safe.
class PerlReader {
 public:
  // `memory` is borrowed.
  void Attach(Memory* memory) { memory_ = memory; }

  // Reads the frames of the first of `candidates` that is an interpreter, and adds their functions to
  // `functions`. False if there is none, or if its frames changed meanwhile and could not be read.
  bool Read(std::span<const uint64_t> candidates, ScriptFunctions* functions, ScriptFrames* frames);

 private:
  static constexpr int kTries = 3;
  static constexpr uint64_t kMostReads = 3000;  // for one stack: some three milliseconds
  static constexpr int kMostContexts = 4000;    // of blocks and loops, too
  static constexpr int kMostStacks = 128;       // that calls from C have begun

  // The members of an interpreter that are needed.
  struct Interpreter {
    uint64_t address;
    uint64_t statement;  // the one that runs
    uint64_t operation;  // of it
    uint64_t stack;      // the innermost stack of contexts
  };
  struct ContextStack {
    uint64_t values;
    uint64_t contexts;
    uint64_t outer;
    int32_t last;  // -1: none
    int32_t capacity;
    int32_t type;
  };
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  bool ReadInterpreter(uint64_t address, Interpreter* interpreter);
  bool ReadStack(uint64_t address, ContextStack* stack);
  bool Walk(const Interpreter& interpreter, ScriptFunctions* functions, ScriptFrames* frames);
  // A place in a function: the last statement that has begun, and the operation in it, or the one that
  // follows it after a call.
  struct StatementPlace {
    uint64_t statement;
    uint64_t operation;
    bool is_next;
  };
  // The statement of a place: the compiler removes those that do nothing else but note their line, and leaves
  // them among the operations that follow. Source: closest_cop() in util.c.
  uint64_t FindStatement(const StatementPlace& place);
  bool SearchOperation(uint64_t operation, const StatementPlace& place, int depth, uint64_t* statement);
  // The frame of the function `name` that is at `place`. False where there is no room or no statement.
  bool AddFrame(std::string_view name, const StatementPlace& place, ScriptFunctions* functions,
                ScriptFrames* frames);
  // "PACKAGE::NAME" of a function. Returns the size; 0 if that is not one.
  size_t ReadName(uint64_t function, std::span<char> text);
  size_t ReadPackage(uint64_t package, std::span<char> text);
  // A key of a hash: what names are kept as.
  size_t ReadKey(uint64_t key, std::span<char> text);
  // A text that ends with a zero.
  size_t ReadText(uint64_t address, std::span<char> text);

  Memory* memory_ = nullptr;
  int operations_left_ = 0;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
};

}  // namespace lagwatch::stack::perl
