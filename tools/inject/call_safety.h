// SPDX-License-Identifier: Apache-2.0
// Decides whether a stopped thread may be made to call the C library's functions: not from inside the
// allocator, the dynamic loader, fork or a signal handler, whose locks it may hold. Context: background.
// Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/inject/call_registers.h"
#include "tools/inject/loaded_libraries.h"

namespace lagwatch::tools {

// The place where a thread was stopped.
enum class StoppedIn : uint8_t {
  kWait,     // a system call that waits for something outside of the process
  kFutex,    // a wait for a thread of the process, or a short call
  kRunning,  // its own code
};

class CallSafety {
 public:
  // Of process `pid`. Errors: those of LoadedLibrary::Find.
  static base::Result<CallSafety> Create(pid_t pid);

  // Looks again where the stacks are, before a thread is stopped: that takes long in a process with many
  // mappings. Create() has looked.
  void NoteStacks();
  bool KnowsStack(uint64_t stack_pointer) const { return StackOf(stack_pointer).range.end != 0; }
  // Judges a stopped thread by its program counter and by the return addresses in its stack, which is all
  // that is read of the process. Values that earlier calls left there can make the answer false.
  bool IsSafe(const ThreadRegisters& registers, StoppedIn place) const;
  bool IsInLibc(uint64_t address) const { return libc_.HoldsCode(address); }
  // Whether the stack is known to have room for calls. A coroutine's may have none.
  bool HasRoom(const ThreadRegisters& registers) const;

 private:
  struct StackMapping {
    CodeRange range;
    bool is_bounded = false;  // by a guard, or it grows
  };
  // Code as it was before the stop.
  struct CodeCopy {
    CodeRange range;
    std::string bytes;
  };

  explicit CallSafety(pid_t pid) : pid_(pid) {}
  void AddOwnAllocators(const std::vector<Mapping>& mappings);
  void NoteStacksIn(const std::vector<Mapping>& mappings);
  void CopyCode(const CodeRange& range);
  void FindSignalReturns();
  StackMapping StackOf(uint64_t stack_pointer) const;
  bool IsCopied(uint64_t address) const;
  bool IsReturnAddress(uint64_t address) const;
  bool IsInLoader(uint64_t address) const { return loader_.HoldsCode(address); }

  pid_t pid_ = 0;
  LoadedLibrary libc_;
  LoadedLibrary loader_;
  std::vector<CodeRange> unsafe_;  // functions
  std::vector<CodeRange> allocator_;
  bool has_own_allocator_ = false;
  std::vector<CodeCopy> copies_;
  std::vector<uint64_t> signal_returns_;  // the code that signal handlers return to
  std::vector<StackMapping> stacks_;      // and other memory, in order
};

}  // namespace lagwatch::tools
