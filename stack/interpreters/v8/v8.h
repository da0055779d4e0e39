// SPDX-License-Identifier: Apache-2.0
// V8 in a process: the first of its modules that exports what debuggers need, as Node does.
#pragma once

#include <array>
#include <cstdint>

#include "base/process/mapped_memory.h"
#include "stack/code/tableless_frames.h"
#include "stack/frames/stack.h"
#include "stack/interpreters/interpreter.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"
#include "stack/interpreters/v8/reader.h"
#include "stack/interpreters/v8/splice.h"

namespace lagwatch::stack::v8 {

class V8 final : public Interpreter {
 public:
  // `memory` is borrowed.
  explicit V8(Memory* memory) : memory_(memory) {}

  void LookAt(const LoadedModule& loaded, CodeMap* code) override;
  void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) override;
  const char* unreadable() const override { return unreadable_; }

 private:
  static constexpr size_t kMostRuns = 16;

  struct Found {
    Reader reader;
    Place place;
    ScriptFrames frames;
    bool has_begun;
    Stack walked;  // the native stack with all frames
    TablelessFrames tableless;
    std::array<uint32_t, kMaxFrames> kept_at;  // of the walked frames, by place: where they are in the stack
    std::array<Run, kMostRuns> runs;
  };
  // Finds the places of the walked frames in `stack`, which lacks lagwatch's own.
  static void FindKept(const Stack& stack, Found* found);
  // The place in `stack` of a tableless frame; kMaxFrames if it is not there.
  static uint32_t PlaceOf(const TablelessFrame& frame, const Found& found);

  Memory* memory_;
  char unreadable_[16] = "";
  base::MappedBlock<Found> found_;  // one; null while there is none
};

}  // namespace lagwatch::stack::v8
