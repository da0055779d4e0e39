// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "stack/code/module_map.h"
#include "stack/code/tableless_frames.h"
#include "stack/frames/live_values.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

class TableLibrary;

// Turns a caught thread into frames. An unknown register is never guessed: where it is needed, the stack ends
// as kIncomplete. Context: watchdog; not thread-safe.
class Unwinder {
 public:
  virtual ~Unwinder() = default;

  // `modules` must be as fresh as `raw`. Always yields at least the innermost frame.
  virtual void Unwind(const RawStack& raw, const ModuleMap& modules, Stack* stack) = 0;

  // As Unwind(), and lists the frames that no unwind table describes; without any where all frames are
  // walked alike.
  virtual void UnwindTableless(const RawStack& raw, const ModuleMap& modules, Stack* stack,
                               TablelessFrames* tableless) {
    tableless->Clear();
    Unwind(raw, modules, stack);
  }

  // As Unwind(), and reads the values that the stack's functions still use; none where that is not supported.
  virtual void UnwindLive(const RawStack& raw, const ModuleMap& modules, Stack* stack, LiveValues* live) {
    live->Clear();
    Unwind(raw, modules, stack);
  }

  // From now on, takes it that callers in code made at run time keep frame records, as V8's do.
  virtual void TrustGeneratedRecords() {}

  // The frame of a caller, by its return address alone.
  virtual Frame Resolve(uint64_t return_address, const ModuleMap& modules) {
    const uint64_t address = return_address - 1;
    const ModuleMap::CodeRange* range = modules.FindRange(address);
    if (range == nullptr) return {kNoModule, address, 0};
    return {range->module, address - range->load_bias, 0};
  }

  // The tables that it uses, which live as long as it does; null when there are none.
  virtual TableLibrary* tables() { return nullptr; }

  // To be called when code was loaded or unloaded: clears the cache of modules.
  virtual void OnModulesChanged() = 0;
};

// Walks a stack by frame pointers alone (frame_pointer_unwinder.cc): for systems on which every function
// keeps one, such as Darwin. Limits: a leaf function without a frame record hides its caller unless it is at
// its first instruction or its return, a signal handler's frame ends the walk, and frames have no start of
// their function. Has no thread and no tables. Context: background.
std::unique_ptr<Unwinder> CreateFramePointerUnwinder();

}  // namespace lagwatch::stack
