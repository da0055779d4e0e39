// SPDX-License-Identifier: Apache-2.0
// HotSpot in a process: the JVM of OpenJDK and of what is built from it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/process/mapped_memory.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/jvm/reader.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::jvm {

// Native frames between two runs of Java frames.
struct NativePart {
  size_t after;  // so many Java frames
  uint32_t begin;
  uint32_t end;
};
// `frames` of all parts one after the other.
struct StackParts {
  size_t count = 0;
  uint32_t frame_count = 0;
  std::array<NativePart, 16> parts;
  std::array<Frame, kMaxFrames> frames;
};

// Puts Java frames into `stack`: its native frames up to the first one of generated code stay, except
// those of `jvm_module`; Java frames follow, of module `language`, with the native frames of `between` in
// their places, and nothing else. Does nothing without Java frames. Context: any; pure.
void Splice(const ScriptFrames& frames, const StackParts& between, uint32_t jvm_module, uint32_t language,
            Stack* stack);

class Jvm final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit Jvm(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  std::optional<ScriptLock> FindLock(int tid, const FutexWait& futex) override;
  policies::Doing FindWait(int tid, const FutexWait& futex, CodeMap* code) override;
  const char* GcCause() override;
  const char* unreadable() const override { return unreadable_; }

 private:
  struct Found {
    Reader reader;
    uint32_t module;    // the JVM's own
    uint32_t language;  // of Java frames
    ScriptFrames frames;
    RawStack part;  // of the thread, from a native caller on
    Stack natives;
    StackParts parts;
  };
  // Unwinds the native frames between the runs of Java frames.
  static void UnwindCallers(const RawStack& raw, CodeMap* code, Found* found);

  Memory* memory_;
  char unreadable_[32] = "";
  char gc_cause_[64] = "";
  base::MappedBlock<Found> found_;  // one; null while there is none
};

}  // namespace lagwatch::stack::jvm
