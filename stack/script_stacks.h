// SPDX-License-Identifier: Apache-2.0
// Stacks of scripts and of managed code: the frames that a native unwinder cannot see.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/process/process.h"
#include "policies/hang.h"
#include "policies/verdict.h"
#include "stack/frames/raw_stack.h"
#include "stack/frames/stack.h"

namespace lagwatch::stack {

class CodeMap;

// A thread of a language's own scheduler that waits, such as a goroutine, and that no thread of the kernel's
// runs: its id is above all of those.
inline constexpr int32_t kFirstScriptThread = 1 << 30;
constexpr bool IsScriptThread(int32_t tid) { return tid >= kFirstScriptThread; }
constexpr int32_t ScriptThreadOf(uint64_t number) {
  return kFirstScriptThread | static_cast<int32_t>(number % kFirstScriptThread);
}

// A thread whose native stack was just captured.
struct CapturedThread {
  int tid;
  const RawStack* raw;  // the source of the native stack; null if nothing could be read
};

// A futex that a thread sleeps in, with the arguments of futex(2), or of the other call that it sleeps in;
// zeros where the kernel hides them.
struct FutexWait {
  uint64_t address = 0;
  uint64_t operation = 0;
  uint64_t value = 0;
  uint64_t timeout = 0;  // an address; 0: none
  uint64_t stack_pointer = 0;
};

// A lock of a language's run time, such as the global interpreter lock.
struct ScriptLock {
  uint64_t address;
  uint64_t turn;  // another one each time that another thread gets it
  int owner_tid;
  policies::LockKind kind = policies::LockKind::kInterpreterLock;
  bool may_time_out = false;  // the wait has a timeout if its call has one

  bool operator==(const ScriptLock&) const = default;
};

// The wait of a language's own thread for a lock that another one of these has.
struct ScriptThreadWait {
  uint64_t address = 0;
  policies::LockKind kind = policies::LockKind::kUnknown;
  int32_t candidate_tid = 0;     // probably has it; 0: none
  uint32_t candidate_count = 0;  // for which there is as much evidence
  bool is_sure = false;          // no other can have it, as far as is known
  const char* reason = "";       // static: the evidence

  bool operator==(const ScriptThreadWait&) const = default;
};

// Another process that a thread waits for, as its run time or program has it on record.
struct ScriptPeer {
  policies::LockKind kind = policies::LockKind::kUnknown;  // kUnknown: there is none
  uint64_t address = 0;                                    // of a lock
  int32_t pid = 0;                                         // 0: the only child, whose id is not known

  bool operator==(const ScriptPeer&) const = default;
};

// A task of a language's event loop, such as asyncio's; empty texts where there is none.
struct ScriptTask {
  const char* name = "";      // with the function that it was made of
  const char* awaiters = "";  // the tasks that wait for it, the nearest one first
};

// A reader of one or more languages' stacks. Context: watchdog.
class ScriptStacks {
 public:
  virtual ~ScriptStacks() = default;
  // Puts the script frames of `thread` into `stack`, its native stack, in place of the frames of the
  // language's run time. Leaves `stack` as it is if the thread has none.
  virtual void AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) = 0;
  // From now on the threads are those of another process, of which nothing is known yet. Only of a reader
  // that no signal's handler uses.
  virtual void MoveTo(const base::Process& /*process*/) {}
  // The lock of the language's own that thread `tid` waits for, in `futex`, if it has an owner. Reads it in
  // place.
  virtual std::optional<ScriptLock> FindLock(int /*tid*/, const FutexWait& /*futex*/) { return std::nullopt; }
  // The task of a stack, by its number in Stack::task. The texts are valid until the next call of AddTo().
  // Empty for a number that is too old.
  virtual ScriptTask FindTask(uint64_t /*number*/) { return {}; }
  // The wait of thread `tid`, which sleeps in `futex`; kUnknown where the language does not know more.
  virtual policies::Doing FindWait(int /*tid*/, const FutexWait& /*futex*/, CodeMap* /*code*/) {
    return policies::Doing::kUnknown;
  }
  // The other process that thread `tid` waits for, which sleeps in `futex`.
  virtual ScriptPeer FindPeer(int /*tid*/, const FutexWait& /*futex*/) { return {}; }
  // The wait of the language's own thread `tid`, if it is for a lock.
  virtual std::optional<ScriptThreadWait> FindThreadWait(int /*tid*/) { return std::nullopt; }
  // The language's own threads that wait for others, as far as there is room. Returns their number.
  virtual size_t ListThreads(std::span<int32_t> /*tids*/) { return 0; }
  // Writes the name of the language's own thread `tid`, such as "goroutine 18". False if there is none.
  virtual bool NameThread(int /*tid*/, std::span<char> /*name*/) { return false; }
  // The cause of the last garbage collection, as the run time names it; empty if it is not known. Valid until
  // the next call of a method.
  virtual const char* GcCause() { return ""; }
  // The run time whose frames cannot be read, such as "python 3.14"; empty if there is none. Valid until the
  // next call of AddTo().
  virtual const char* unreadable() const { return ""; }
};

}  // namespace lagwatch::stack
