// SPDX-License-Identifier: Apache-2.0
// Reads the Ruby frames of a thread from the data of Ruby 3.1. Source: vm_core.h, iseq.c and
// internal/string.h of Ruby, on 64-bit systems.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/memory_pieces.h"
#include "stack/interpreters/ruby/class_names.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::ruby {

// The place of the innermost control frame in an execution context.
inline constexpr size_t kFrame = 16;

// The part of a file's path that is the same on all machines: below a library's directory, else its name.
std::string_view StablePath(std::string_view path);

// Reads only; every address and every type is checked, because the interpreter may go on while it is read.
// Context: watchdog; not thread-safe. Large: not for the stack.
class RubyReader {
 public:
  // `vm` is where the address of the virtual machine is, `text_class` where that of the class `String`.
  // `memory` is borrowed.
  void Attach(Memory* memory, uint64_t vm, uint64_t text_class) {
    memory_ = memory;
    vm_ = vm;
    classes_.Attach(memory, text_class);
  }

  // Reads the frames of the first of `candidates` that is an execution context which `raw`, a thread, runs,
  // and adds their functions to `functions`. False if there is none, or if its frames changed meanwhile and
  // could not be read.
  bool Read(std::span<const uint64_t> candidates, const RawStack& raw, ScriptFunctions* functions,
            ScriptFrames* frames);
  // The execution context of the last Read() that found one.
  uint64_t last_context() const { return last_context_; }

  // Whether the innermost method of an execution context is one in C that the module Kernel has.
  bool IsInKernel(uint64_t context);

  // As Interpreter::CopyPieces(), of the execution context at `address`, if there is one.
  static void CopyPieces(uint64_t address, MemoryPieces* pieces);

 private:
  static constexpr int kTries = 3;
  static constexpr uint64_t kMostReads = 3500;  // for one stack: some three milliseconds
  static constexpr size_t kFrameBytes = 64;
  static constexpr size_t kMostFrames = 2000;  // those of methods in C included

  // The members of an execution context that are needed.
  struct Context {
    uint64_t address;
    uint64_t stack;
    uint64_t stack_words;
    uint64_t frame;  // the innermost one

    uint64_t stack_end() const { return stack + stack_words * sizeof(uint64_t); }
  };
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  bool ReadContext(uint64_t address, const RawStack& raw, Context* context);
  bool Walk(const Context& context, ScriptFunctions* functions, ScriptFrames* frames);
  // False where the sequence of instructions is none.
  bool ReadFrame(std::span<const uint8_t> bytes, ScriptFunctions* functions, ScriptFrame* frame);
  // Puts the class of the method in `name`, of `size` bytes, before the method's name. Returns the new size.
  size_t AddClass(uint64_t environment, size_t size, std::span<char> name);
  uint32_t ReadLine(std::span<const uint8_t> body, uint64_t instruction);
  // The index of the line's entry for a position; 0 if it cannot be read.
  uint32_t ReadIndex(uint64_t table, uint64_t position);
  size_t ReadPath(uint64_t object, std::span<char> text);

  Memory* memory_ = nullptr;
  uint64_t vm_ = 0;
  uint64_t last_context_ = 0;
  ClassNames classes_;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
};

}  // namespace lagwatch::stack::ruby
