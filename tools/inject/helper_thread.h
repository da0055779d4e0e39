// SPDX-License-Identifier: Apache-2.0
// A thread that another process starts for us, which then calls functions there while the process's own
// threads run on: only one of them is stopped, for the start of the helper. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/inject/address_space.h"
#include "tools/inject/loaded_libraries.h"
#include "tools/inject/returning_call.h"
#include "tools/inject/traced_thread.h"

namespace lagwatch::tools {

// Between calls the helper sleeps, for two seconds at most: if this process ends before, the helper ends by
// itself. It also returns there from a call that goes on when this process has ended. Where no frame is known
// to return by (arm64), it waits for good after a call: the next helper's start ends it.
//
// It is known by the argument of its start function, in the C library's block of the thread: a word that no
// other thread was started with.
class HelperThread {
 public:
  // Ends helpers that are left of commands that were killed. At most one command at a time may do so. Errors:
  // those of RemoteCaller::Stop; kInvalid if the C library lacks a function for it; kUnavailable if the
  // process could not start a thread. `space` is borrowed.
  static base::Result<std::unique_ptr<HelperThread>> Start(const AddressSpace& space,
                                                           const LoadedLibrary& libc);
  // The helper ends.
  ~HelperThread();
  HelperThread(const HelperThread&) = delete;
  HelperThread& operator=(const HelperThread&) = delete;

  // A copy of `bytes` and a zero byte in the helper's stack; its address. Errors: kIo.
  base::Result<uint64_t> Copy(const std::string& bytes);
  // Calls the function; its result is lost. Errors: kUnavailable if it does not return in time.
  base::Status Call(uint64_t address, const std::vector<uint64_t>& arguments);
  // The text at `address`, of `bytes` at most. Errors: kIo.
  base::Result<std::string> Read(uint64_t address, size_t bytes) const;
  // The time that the process's own thread was stopped at most.
  int64_t stop_ns() const { return stop_ns_; }

 private:
  // The argument of a helper's start function; 0: of any that is left.
  using Mark = uint64_t;

  enum class HelperPlace : uint8_t { kResting, kElsewhere, kNotOurs };

  HelperThread(const AddressSpace& space, pid_t tid, Mark mark) : space_(&space), tid_(tid), mark_(mark) {}
  static void EndLeft(const AddressSpace& space);
  static std::unique_ptr<HelperThread> Find(const AddressSpace& space, Mark mark,
                                            const std::vector<pid_t>& others);
  bool IsMarked(const ThreadRegisters& registers) const;
  bool AwaitRest(uint64_t lowest, uint64_t highest) const;
  bool Stop();
  HelperPlace StopOnce();
  bool SetCall(const RemoteFunction& function, uint64_t* lowest);

  const AddressSpace* space_;
  pid_t tid_;
  Mark mark_;
  uint64_t signal_return_ = 0;
  uint64_t pause_ = 0;
  uint64_t stack_pointer_ = 0;  // below all that is in use
  int64_t stop_ns_ = 0;
  bool is_lost_ = false;             // a call did not return
  std::optional<ThreadState> rest_;  // in its first sleep
};

}  // namespace lagwatch::tools
