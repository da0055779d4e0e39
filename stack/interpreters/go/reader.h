// SPDX-License-Identifier: Apache-2.0
// Go in one process: the stacks of its goroutines, their waits, and those that may end these.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/go/constant_pages.h"
#include "stack/interpreters/go/functions.h"
#include "stack/interpreters/go/goroutines.h"
#include "stack/interpreters/go/holders.h"
#include "stack/interpreters/go/waits.h"
#include "stack/interpreters/go/walk.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::go {

// A goroutine's wait.
struct Wait {
  WaitKind kind = WaitKind::kNone;
  uint64_t address = 0;       // of the lock or the channel; 0: not known
  bool is_own = false;        // of Go's run time, not of the program
  bool is_request = false;    // of a server, in its handler
  bool is_in_client = false;  // the innermost function that is not the run time's asks another server
  Place place{};              // the innermost one of the program; an empty name without one
};

// Zeros are none. Context: watchdog; not thread-safe. Large: not for the stack.
class GoReader {
 public:
  // The module whose ELF header is at `base` may be a Go program. `memory` is borrowed. False if it is not.
  bool Attach(Memory* memory, uint64_t base);
  Functions& functions() { return functions_; }
  // Found once they are there; a program that has just started has none.
  Goroutines& goroutines();

  // The frames of the goroutine, which does not run. False if there are none.
  bool ReadFrames(const Goroutine& goroutine, ScriptFunctions* functions, ScriptFrames* frames);
  // The frames of a thread whose innermost code is Go's. False if there are none.
  bool ReadFrames(const RawStack& raw, ScriptFunctions* functions, ScriptFrames* frames);
  // The end of the walk of those frames.
  WalkEnd last_end() const { return last_end_; }
  // Adds the frames of the code at `pc`, which is within its instruction. False if it is not Go's.
  bool AddFrames(uint64_t pc, ScriptFunctions* functions, ScriptFrames* frames);
  // The wait of a goroutine that waits.
  void ReadWait(const Goroutine& goroutine, Wait* wait);
  // The goroutines that probably have the lock that `goroutine` waits for.
  Holders FindHolders(const Goroutine& goroutine, const Wait& wait);
  // Finds the one with this number as a thread of the language's own (ScriptThreadOf()).
  bool FindByThreadNumber(int32_t tid, Goroutine* goroutine);
  // Those of the program that wait. Returns their number.
  size_t ListWaiting(std::span<int32_t> tids);
  // Finds the goroutine that thread `tid` runs, or that it alone may run.
  bool FindOfThread(int32_t tid, Goroutine* goroutine);

 private:
  struct KnownThread {
    int32_t tid;
    uint64_t record;
  };
  struct KnownGoroutine {
    int32_t tid;
    uint64_t address;
  };
  static constexpr size_t kThreads = 256;
  static constexpr int kMostTries = 20;

  void Keep(const Goroutine& goroutine);
  // Whether it is of the run time itself, by the function that it was started with.
  bool IsOwn(const Goroutine& goroutine);
  void AddPlaces(const Function& function, uint64_t pc, ScriptFunctions* functions, ScriptFrames* frames);
  uint64_t FindQueued(const Goroutine& goroutine, uint64_t begin, uint64_t end);
  uint64_t FindThread(int32_t tid);

  ConstantPages pages_;
  Functions functions_;
  Goroutines goroutines_;
  StackBytes stack_;
  int tries_ = 0;
  WalkEnd last_end_ = WalkEnd::kOutermost;
  std::array<KnownThread, kThreads> threads_{};
  std::array<KnownGoroutine, kThreads> kept_{};  // those that were looked for last
};

}  // namespace lagwatch::stack::go
