// SPDX-License-Identifier: Apache-2.0
// Files of /proc of threads that are read often, kept open: a pread(2) costs a third of opening,
// reading and closing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/process/process.h"

namespace lagwatch::stack {

// In /proc/PID/task/TID.
enum class ThreadFile : uint8_t {
  kActivity,
  kState,
  kCounters,
  kStatus
};  // syscall, stat, schedstat, status

// Those of one process. Thread safety: one thread's, which has a table of descriptors of its own
// (base::HasOwnFiles) if anything is to be kept open.
class ThreadFiles {
 public:
  ThreadFiles() = default;
  // Closes nothing: another thread destroys it, in whose table the numbers mean other files. The table of the
  // thread that opened them ends with that thread.
  ~ThreadFiles() = default;
  ThreadFiles(const ThreadFiles&) = delete;
  ThreadFiles& operator=(const ThreadFiles&) = delete;

  // From now on files are kept; until then Keep() and KeepAll() do nothing.
  void Allow() { is_allowed_ = true; }
  // Keeps the activity of `thread` open, if there is room: it can be read after the process has dropped
  // its privileges, when it can no longer be opened. True if it is kept: then each call is undone by a
  // Release(). Context: watchdog.
  bool Keep(const base::Thread& thread);
  // Keeps the others open, too, of a thread that Keep() was called for, unless the limit of descriptors is
  // near. Context: watchdog.
  void KeepAll(const base::Thread& thread);
  // Undoes KeepAll(). Context: watchdog.
  void ReleaseOthers(int tid);
  // Undoes a Keep(); the last one closes all. Context: watchdog.
  void Release(int tid);
  // -1 when it is not kept.
  int DescriptorOf(int tid, ThreadFile file) const;

 private:
  static constexpr size_t kCapacity = 128;
  static constexpr size_t kFiles = static_cast<size_t>(ThreadFile::kStatus) + 1;
  struct ThreadEntry {
    int tid;
    int users;
    int fds[kFiles];  // -1: not kept
  };

  ThreadEntry* Find(int tid);

  bool is_allowed_ = false;
  size_t count_ = 0;
  ThreadEntry entries_[kCapacity];
};

// Opens one of them; -1 when that fails. The caller closes it, and has a table of descriptors of its
// own. Context: watchdog.
int OpenThreadFile(const base::Thread& thread, ThreadFile file);

// The file's first `size_bytes` bytes, by the descriptor in `files`, which may be null, if there is one. An
// empty view when it cannot be read. Context: watchdog.
std::string_view ReadThreadFile(const base::Thread& thread, ThreadFile file, const ThreadFiles* files,
                                char* buffer, size_t size_bytes);

}  // namespace lagwatch::stack
