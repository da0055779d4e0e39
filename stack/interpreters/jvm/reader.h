// SPDX-License-Identifier: Apache-2.0
// Reads the Java frames of a thread from HotSpot's own data: interpreted, compiled and inlined ones. Never a
// call into the JVM, which would wait for a safepoint, and never a signal but the capture's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stack/code/script_functions.h"
#include "stack/frames/raw_stack.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/jvm/code_cache.h"
#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/jvm/methods.h"
#include "stack/interpreters/jvm/threads.h"
#include "stack/interpreters/jvm/waits.h"
#include "stack/interpreters/memory.h"
#include "stack/interpreters/script_frames.h"

namespace lagwatch::stack::jvm {

// One JVM in one process. Every address and every object is checked, because the JVM goes on while it is
// read. Context: watchdog; not thread-safe. Large: not for the stack.
class JvmReader {
 public:
  // Whether the module is a JVM whose members are known. `is_hotspot` is set for others of its kind, too.
  // `memory` is borrowed.
  bool Attach(Memory* memory, const ExportedSymbols& exports, bool* is_hotspot);
  int major_version() const { return layout_.major_version; }

  // Reads the frames of thread `tid`, and adds their functions to `functions`. `raw`: the thread as it was
  // caught, or null for one that sleeps. False if the thread runs no Java code, or if it went on meanwhile.
  bool Read(int tid, const RawStack* raw, ScriptFunctions* functions, ScriptFrames* frames);
  // The native code that called the run of Java frames which ends after so many frames: its registers at the
  // call.
  struct NativeCaller {
    size_t frame_count;
    uint64_t pc;
    uint64_t sp;
    uint64_t fp;
    uint64_t base;  // rbx
  };
  // Of the stack that was read last, between its runs of Java frames; innermost first.
  std::span<const NativeCaller> callers() const { return {callers_.data(), caller_count_}; }
  bool HasThread(int tid) { return threads_.Find(tid) != 0; }
  Waits& waits() { return waits_; }
  // The innermost Java function of thread `tid`, which sleeps; empty without one. Changes `frames`.
  std::string_view InnermostFunction(int tid, ScriptFunctions* functions, ScriptFrames* frames);
  // From now on everything is read from `memory`.
  void UseMemoryForTest(Memory* memory) { UseMemory(memory); }
  // Whether the address is in Java code, as of the last Read().
  bool IsJavaCode(uint64_t address) const { return code_.Holds(address); }

 private:
  static constexpr uint64_t kMostReads = 6000;  // for one stack: a few milliseconds
  static constexpr int kMostSteps = 1024;

  // A frame: its stack and frame pointers, and where it goes on.
  struct Cursor {
    uint64_t sp = 0;
    uint64_t fp = 0;
    uint64_t pc = 0;
    uint64_t bytecode = 0;  // in a register, in the innermost frame; 0: not known
    bool is_leaf = false;   // `pc` is no return address
    bool is_near = false;   // `pc` is one, of which the code has no record
  };
  struct Anchor {
    uint64_t sp;
    uint64_t fp;
    uint64_t pc;
  };
  // Reads up to so many frames.
  bool ReadFrames(int tid, const RawStack* raw, size_t most, ScriptFunctions* functions,
                  ScriptFrames* frames);
  enum class WalkStep { kOn, kEnd, kLost };

  void UseMemory(Memory* memory);
  bool IsOverBudget() const { return memory_->read_count() >= last_read_; }

  bool FindTop(uint64_t thread, Cursor* cursor);
  bool ReadAnchor(uint64_t address, Anchor* anchor);
  bool GoTo(const Anchor& anchor, Cursor* cursor);
  // Goes to the next return address above the stack pointer that is in Java code.
  bool GoToReturn(Cursor* cursor);
  bool ReadStack(uint64_t address, uint64_t* value);

  WalkStep StepOver(Cursor* cursor);
  WalkStep StepOverInterpreted(Cursor* cursor);
  WalkStep StepOverCompiled(const Blob& blob, Cursor* cursor);
  WalkStep StepOverEntry(Cursor* cursor);
  void NoteCaller(uint64_t entry_fp);
  bool Leave(uint64_t sender_sp, uint64_t return_at, uint64_t fp_at, Cursor* cursor);
  // For code whose frame is not there yet, or not any more.
  bool LeaveWithoutFrame(const Blob& blob, Cursor* cursor);

  bool AddCompiled(const Blob& blob, const Cursor& cursor);
  // A method at a place in compiled code; that which it was inlined into is at `sender`, 0 for the outermost.
  struct Scope {
    uint64_t method = 0;
    int64_t bci = -1;
    uint64_t sender = 0;
  };
  // The scopes of the records around a place, 0 without one.
  struct Records {
    uint64_t before = 0;
    uint64_t after = 0;
    bool is_exact = false;  // `after` is that of the place itself
  };
  static constexpr int64_t kKnown = -2;  // the record's own bytecode index
  static constexpr size_t kMostLoopBytes = 1024;
  Records FindRecords(const Blob& blob, uint64_t pc);
  bool AddNear(const Blob& blob, const Records& records, uint64_t pc);
  bool IsInLoop(const Blob& blob, uint64_t pc);
  bool IsLeafCall(const Blob& blob, uint64_t pc, uint64_t sp);
  bool ReadScope(const Blob& blob, uint64_t offset, Scope* scope);
  // Adds the frames of a record, the innermost at `innermost_bci`.
  bool ReadScopes(const Blob& blob, uint64_t offset, int64_t innermost_bci);
  bool Add(uint64_t method, int64_t bci);
  // A member of compiled code that is an offset from its head.
  uint64_t OffsetIn(const Blob& blob, uint32_t member);
  uint64_t AddressIn(const Blob& blob, uint32_t member);

  Memory* memory_ = nullptr;
  JvmLayout layout_;
  CodeCache code_;
  Methods methods_;
  Threads threads_;
  Waits waits_;
  uint64_t last_read_ = 0;  // the memory's count when the reads of this stack are used up
  // Of the stack that is read.
  const RawStack* raw_ = nullptr;
  uint64_t stack_end_ = 0;
  bool is_entering_ = false;  // a monitor
  size_t caller_count_ = 0;
  std::array<NativeCaller, 16> callers_;
  ScriptFunctions* functions_ = nullptr;
  ScriptFrames* frames_ = nullptr;
};

}  // namespace lagwatch::stack::jvm
