// SPDX-License-Identifier: Apache-2.0
// Reads the Java frames of a thread from HotSpot's own data: interpreted, compiled and inlined ones. Never a
// call into the JVM, which would wait for a safepoint, and never a signal but the capture's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/frames/raw_stack.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/jvm/code_cache.h"
#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/jvm/methods.h"
#include "stack/interpreters/jvm/objects.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"
#include "stack/scripts/script_functions.h"

namespace lagwatch::stack::jvm {

// One JVM in one process. Every address and every object is checked, because the JVM goes on while it is
// read. Context: watchdog; not thread-safe. Large: not for the stack.
class Reader {
 public:
  // Whether the module is a JVM whose members are known. `is_hotspot` is set for others of its kind, too.
  // `memory` is borrowed.
  bool Attach(Memory* memory, const ExportedSymbols& exports, bool* is_hotspot);
  int major_version() const { return layout_.major_version; }

  // Reads the frames of thread `tid`, and adds their functions to `functions`. `raw`: the thread as it was
  // caught, or null for one that sleeps. False if the thread runs no Java code, or if it went on meanwhile.
  bool Read(int tid, const RawStack* raw, ScriptFunctions* functions, ScriptFrames* frames);
  struct Monitor {
    uint64_t address = 0;
    int owner_tid = 0;  // 0: there is none
  };
  // The monitor that thread `tid` waits to enter.
  Monitor FindMonitor(int tid);
  // The lock of java.util.concurrent that thread `tid` is parked for.
  Monitor FindParkedLock(int tid);
  bool HasThread(int tid) { return FindThread(tid) != 0; }
  // Whether a garbage collection has stopped the threads that run Java code.
  bool IsCollecting();
  // Whether thread `tid`, which sleeps, is in Thread.sleep(). Changes `frames`.
  bool IsAsleep(int tid, ScriptFunctions* functions, ScriptFrames* frames);
  // Reads the cause of the last garbage collection; leaves `text` as it is where the JVM keeps no counters.
  void ReadGcCause(char* text, size_t size_bytes);
  // From now on everything is read from `memory`.
  void UseMemoryForTest(Memory* memory) { UseMemory(memory); }
  // Whether the address is in Java code, as of the last Read().
  bool IsJavaCode(uint64_t address) const { return code_.Holds(address); }

 private:
  static constexpr uint64_t kMostReads = 6000;  // for one stack: a few milliseconds
  static constexpr int kMostSteps = 1024;
  static constexpr uint32_t kMostThreads = 8192;

  // A frame: its stack and frame pointers, and where it goes on.
  struct Cursor {
    uint64_t sp = 0;
    uint64_t fp = 0;
    uint64_t pc = 0;
    uint64_t bytecode = 0;  // in a register, in the innermost frame; 0: not known
    bool is_leaf = false;   // `pc` is no return address
  };
  // A thread's object, by its id; a hint, since the thread may have ended.
  struct ThreadObject {
    int tid = 0;
    uint64_t object = 0;
  };
  struct Anchor {
    uint64_t sp;
    uint64_t fp;
    uint64_t pc;
  };
  // Reads up to so many frames.
  bool ReadFrames(int tid, const RawStack* raw, size_t most, ScriptFunctions* functions,
                  ScriptFrames* frames);
  enum class Step { kOn, kEnd, kLost };

  void UseMemory(Memory* memory);
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }
  uint64_t FindThread(int tid);
  bool IsThread(uint64_t thread, int tid);
  bool IsOwner(uint64_t thread, uint64_t monitor, uint64_t owner);
  int TidOf(uint64_t thread);
  uint64_t ObjectOf(uint64_t thread);
  bool HasInLockStack(uint64_t thread, uint64_t object);
  // Calls `take` with each thread's object until it returns true.
  template <typename Take>
  void ForEachThread(Take take);

  bool FindTop(uint64_t thread, Cursor* cursor);
  bool ReadAnchor(uint64_t address, Anchor* anchor);
  bool GoTo(const Anchor& anchor, Cursor* cursor);
  // Goes to the next return address above the stack pointer that is in Java code.
  bool GoToReturn(Cursor* cursor);
  bool ReadStack(uint64_t address, uint64_t* value);

  Step StepOver(Cursor* cursor);
  Step StepOverInterpreted(Cursor* cursor);
  Step StepOverCompiled(const Blob& blob, Cursor* cursor);
  Step StepOverEntry(Cursor* cursor);
  bool Leave(uint64_t sender_sp, uint64_t return_at, uint64_t fp_at, Cursor* cursor);
  // For code whose frame is not there yet, or not any more.
  bool LeaveWithoutFrame(const Blob& blob, Cursor* cursor);

  bool AddCompiled(const Blob& blob, const Cursor& cursor);
  uint64_t FindScope(const Blob& blob, uint64_t pc, bool is_near);
  bool ReadScopes(const Blob& blob, uint64_t offset);
  bool Add(uint64_t method, int64_t bci);
  // A member of compiled code that is an offset from its head.
  uint64_t OffsetIn(const Blob& blob, uint32_t member);
  uint64_t AddressIn(const Blob& blob, uint32_t member);

  Memory* memory_ = nullptr;
  Layout layout_;
  CodeCache code_;
  Methods methods_;
  Objects objects_;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  // Of the stack that is read.
  const RawStack* raw_ = nullptr;
  uint64_t stack_end_ = 0;
  ScriptFunctions* functions_ = nullptr;
  ScriptFrames* frames_ = nullptr;
  std::array<ThreadObject, 256> threads_{};
};

}  // namespace lagwatch::stack::jvm
