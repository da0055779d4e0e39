// SPDX-License-Identifier: Apache-2.0
// A thread that another process starts for us, which then calls functions there while the process's own
// threads run on: only one of them is stopped, for the start of the helper. Context: background. Linux.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tools/inject/loaded_libraries.h"

namespace lagwatch::tools {

// Between calls the helper sleeps in pause(2), where it returns from each call also if this process ends
// before: then it stays there, without harm.
class HelperThread {
 public:
  // At most one command at a time may do so. Errors: those of RemoteCaller::Stop; kInvalid if the C library
  // lacks a function for it; kUnavailable if the process could not start a thread. `libc` is borrowed.
  static base::Result<std::unique_ptr<HelperThread>> Start(pid_t pid, const LoadedLibrary& libc);
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
  // The time that the process's own thread was stopped, without the time that it waited for a processor.
  int64_t stop_ns() const { return stop_ns_; }
  int64_t queued_ns() const { return queued_ns_; }

 private:
  struct Registers;

  HelperThread(pid_t pid, pid_t tid, uint64_t pause_address);
  bool AwaitPause(uint64_t stack_pointer, int64_t timeout_ns) const;
  bool Stop() const;

  pid_t pid_;
  pid_t tid_;
  uint64_t pause_;
  uint64_t stack_pointer_ = 0;  // below all that is in use
  int64_t stop_ns_ = 0;
  int64_t queued_ns_ = 0;
  bool is_lost_ = false;  // a call did not return
  std::unique_ptr<Registers> before_;
};

}  // namespace lagwatch::tools
