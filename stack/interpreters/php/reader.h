// SPDX-License-Identifier: Apache-2.0
// Reads the frames of PHP 8.2. Source: Zend/zend_compile.h, zend_globals.h and zend_types.h of PHP, on 64-bit
// systems, in builds without thread safety.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::php {

// The part of a file's path that is the same on all machines: below `vendor`, else its name.
std::string_view StablePath(std::string_view path);

// Reads only; every address is checked, because PHP may go on while it is read. Context: watchdog; not
// thread-safe.
class PhpReader {
 public:
  enum class Version : uint8_t { kNotStarted, kKnown, kOther };

  // `globals` is the address of executor_globals, `modules` that of module_registry. `memory` is borrowed.
  void Attach(Memory* memory, uint64_t globals, uint64_t modules) {
    memory_ = memory;
    globals_ = globals;
    modules_ = modules;
  }
  // Whether this PHP is one whose data is known. It says so once it has registered its first module.
  Version FindVersion();

  // Reads the frames of the thread that runs PHP, and adds their functions to `functions`. `registers` are
  // the thread's: one of them has the operation that runs. Null: not known. False if it runs no script, or if
  // the frames changed meanwhile and could not be read.
  bool Read(const Registers* registers, ScriptFunctions* functions, ScriptFrames* frames);

 private:
  static constexpr int kTries = 3;
  static constexpr uint64_t kMostReads = 2500;  // for one stack: some two milliseconds
  static constexpr int kMostFrames = 2000;      // those of functions in C included

  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  bool Walk(uint64_t frame, const Registers* registers, ScriptFunctions* functions, ScriptFrames* frames);
  // Adds the frame of `bytes`, unless its function is one in C. False if it cannot be read.
  bool AddFrame(std::span<const uint8_t> bytes, const Registers* registers, ScriptFunctions* functions,
                ScriptFrames* frames);
  // Adds the generators from `generator`, which the program has asked for a value, to the one that it got
  // `inner` from, and that runs: they delegate to each other, and only the last one's frame is in the chain
  // of frames.
  bool AddGenerators(uint64_t generator, uint64_t inner, ScriptFunctions* functions, ScriptFrames* frames);
  // False where the function is none of a script.
  bool ReadFunction(std::span<const uint8_t> function, ScriptFunctions* functions, uint64_t* number);
  // `saved` is the frame's own operation.
  uint32_t ReadLine(std::span<const uint8_t> function, uint64_t saved, const Registers* registers);
  size_t ReadText(uint64_t address, std::span<char> text);

  Memory* memory_ = nullptr;
  uint64_t globals_ = 0;
  uint64_t modules_ = 0;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
};

}  // namespace lagwatch::stack::php
