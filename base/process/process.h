// SPDX-License-Identifier: Apache-2.0
// A process that is looked at, and a thread of one: values that are handed down to all that reads memory,
// files of /proc or clocks, so that the same code serves lagwatch's own process, one that is watched from
// outside, and a peer that one of these waits for. See docs/design/outside.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::base {

class CoreImage;

// Owns nothing: the process may end at any time, and then reads fail. Context: any, where a method says
// nothing else.
class Process {
 public:
  // The calling process, also in a forked child; so is one that is default-constructed.
  static constexpr Process Own() { return Process(); }
  // Another one, which is read as such even if it is the caller's own. Linux.
  static constexpr Process Other(int32_t pid) { return Process(pid); }
  // One that is no more, by its core file. `image` is borrowed for as long as the value is used, and there is
  // one at a time. Context: background. Linux.
  static Process Core(const CoreImage* image);

  constexpr Process() = default;
  constexpr bool operator==(const Process&) const = default;

  constexpr bool is_own() const { return other_pid_ == 0; }
  // Whether it is only in a core file: it has the ids that it had, which may be another process's by now.
  constexpr bool is_core() const { return other_pid_ < 0; }
  // The image that Core() was called with; null of all other processes.
  const CoreImage* core() const;
  // As system calls name it.
  int32_t pid() const;
  // As /proc names it (base/system/proc_ids.h); 0 if it is not found, or not there any more. Context:
  // watchdog.
  int32_t proc_id() const;

  // Copies up to `size_bytes` from `address`; returns how many bytes could be read before the first
  // unreadable page (0 when none). One system call in the usual case. Context: watchdog.
  size_t Read(uint64_t address, void* destination, size_t size_bytes) const;
  // Reads one value; false when it is not readable. Context: watchdog.
  template <typename T>
  bool ReadValue(uint64_t address, T* value) const {
    return Read(address, value, sizeof *value) == sizeof *value;
  }

  // CPU time used so far; -1 when it is gone. Context: watchdog (one system call).
  int64_t CpuNs() const;

 private:
  constexpr explicit Process(int32_t other_pid) : other_pid_(other_pid) {}

  int32_t other_pid_ = 0;  // 0: the caller's own; negative: of a core file
};

struct Thread {
  Process process;
  int32_t tid = 0;

  constexpr bool operator==(const Thread&) const = default;
  // CPU time used so far; -1 when it is gone. Context: watchdog (one system call, three for another process's
  // thread).
  int64_t CpuNs() const;
};

// Of the calling process.
constexpr Thread OwnThread(int32_t tid) { return {Process::Own(), tid}; }

// Builds a path like "/proc/self/maps" in place; of a core file, in the folder of its image. Context:
// watchdog.
class ProcessPath {
 public:
  ProcessPath(const Process& process, const char* leaf);
  const char* c_str() const { return text_; }

 private:
  char text_[64];
};

}  // namespace lagwatch::base
