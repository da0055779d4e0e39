// SPDX-License-Identifier: Apache-2.0
// Calls functions in another process, on one of its own threads, as a debugger does: the thread is stopped
// where it waits in the kernel, makes the call, and goes on waiting as if nothing had been. It never sees
// EINTR. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/inject/address_space.h"
#include "tools/inject/returning_call.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

class CallSafety;
class WaitTime;

class RemoteCaller {
 public:
  // Stops a thread of the process that holds no lock of the C library's (call_safety.h): one that waits for
  // something outside of the process rather than for another thread, rather than one that runs; the main
  // thread rather than others. Waits for one for a few seconds. `space` is borrowed; the thread is one that
  // has it. Errors: kNotFound when there is no such process, kUnauthorized when the system does not let us,
  // kUnavailable when no thread comes to such a place, another debugger is there, or the process runs another
  // program.
  static base::Result<std::unique_ptr<RemoteCaller>> Stop(const AddressSpace& space);
  // Continues.
  ~RemoteCaller();
  RemoteCaller(const RemoteCaller&) = delete;
  RemoteCaller& operator=(const RemoteCaller&) = delete;

  // Calls run on the thread's stack, of which a coroutine has little; from now on, until the thread goes on,
  // on memory that the process's own mmap and munmap, at these addresses, give and take. Errors: those of
  // Call; kUnavailable when there is none.
  base::Status UseOwnStack(uint64_t mmap_address, uint64_t munmap_address);
  // A copy of `text` in the stack that calls run on, for calls; its address. Errors: kIo.
  base::Result<uint64_t> Copy(const std::string& text);
  // Returns the function's result. Errors: kUnavailable if it does not return in time, or faults.
  base::Result<uint64_t> Call(const RemoteFunction& function);
  // Lets the thread continue; nothing can be called any more.
  void Continue();
  // Lets the thread continue with a call, after which it goes on where it was, by itself; `signal_return` is
  // FindSignalReturn()'s. False if that is not possible: then it stays stopped.
  bool ContinueWithCall(const RemoteFunction& function, uint64_t signal_return);
  // Once it continues: the time that the thread was stopped at most, from the request to stop on. A thread
  // that waited for a processor stopped later.
  int64_t stop_ns() const { return stop_ns_; }

 private:
  RemoteCaller(const AddressSpace& space, pid_t tid);
  static base::Result<std::unique_ptr<RemoteCaller>> TryStop(const AddressSpace& space, pid_t tid,
                                                             const CallSafety* safety);
  bool TakeState(int status, const CallSafety* safety, const WaitTime& wait);
  void KeepItsEnd(long syscall_number, const CallSafety& safety, const WaitTime& wait);
  base::Status AwaitReturn();
  void LeaveOwnStack();
  void Detach();

  const AddressSpace* space_;
  pid_t tid_;               // 0: it goes on
  int64_t stopped_ns_ = 0;  // asked to stop
  int64_t stop_ns_ = 0;
  uint64_t stack_pointer_ = 0;  // below all that is in use
  uint64_t own_stack_ = 0;      // 0: none
  uint64_t munmap_address_ = 0;
  bool has_room_ = false;  // for calls, on the thread's own stack
  bool is_lost_ = false;   // a call did not return: nothing more is called
  ThreadState before_;
  std::unique_ptr<CallSafety> safety_;        // kept, since to give back its memory takes long
  std::unique_ptr<ScopedPriority> priority_;  // while it is stopped
};

}  // namespace lagwatch::tools
