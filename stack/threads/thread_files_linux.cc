// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/process/proc_file.h"
#include "stack/threads/thread_files.h"

namespace lagwatch::stack {
namespace {

constexpr const char* kNames[] = {"syscall", "stat", "schedstat", "status"};

void Close(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

// Whether as many files as a report needs (maps, the spool's) can be opened beside `fd`, the newest.
bool LeavesRoom(int fd) {
  constexpr rlim_t kSpare = 16;
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && static_cast<rlim_t>(fd) + kSpare < limit.rlim_cur;
}

}  // namespace

bool ThreadFiles::Keep(const base::Thread& thread) {
  if (ThreadEntry* known = Find(thread.tid)) {
    ++known->users;
    return true;
  }
  if (!is_allowed_ || count_ == kCapacity) return false;
  ThreadEntry& entry = entries_[count_++];
  entry.tid = thread.tid;
  entry.users = 1;
  std::ranges::fill(entry.fds, -1);
  entry.fds[static_cast<size_t>(ThreadFile::kActivity)] = OpenThreadFile(thread, ThreadFile::kActivity);
  return true;
}

void ThreadFiles::KeepAll(const base::Thread& thread) {
  ThreadEntry* entry = Find(thread.tid);
  if (entry == nullptr) return;
  for (ThreadFile file : {ThreadFile::kState, ThreadFile::kCounters, ThreadFile::kStatus}) {
    int& fd = entry->fds[static_cast<size_t>(file)];
    if (fd < 0) fd = OpenThreadFile(thread, file);
    if (fd >= 0 && !LeavesRoom(fd)) Close(&fd);
  }
}

void ThreadFiles::ReleaseOthers(int tid) {
  ThreadEntry* entry = Find(tid);
  if (entry == nullptr) return;
  for (ThreadFile file : {ThreadFile::kState, ThreadFile::kCounters, ThreadFile::kStatus})
    Close(&entry->fds[static_cast<size_t>(file)]);
}

void ThreadFiles::Release(int tid) {
  ThreadEntry* entry = Find(tid);
  if (entry == nullptr || --entry->users > 0) return;
  for (int& fd : entry->fds) Close(&fd);
  *entry = entries_[--count_];
}

ThreadFiles::ThreadEntry* ThreadFiles::Find(int tid) {
  ThreadEntry* end = entries_ + count_;
  ThreadEntry* entry =
      std::find_if(entries_, end, [&](const ThreadEntry& other) { return other.tid == tid; });
  return entry == end ? nullptr : entry;
}

int ThreadFiles::DescriptorOf(int tid, ThreadFile file) const {
  const ThreadEntry* entry = const_cast<ThreadFiles*>(this)->Find(tid);
  return entry == nullptr ? -1 : entry->fds[static_cast<size_t>(file)];
}

int OpenThreadFile(const base::Thread& thread, ThreadFile file) {
  return open(base::TaskPath(thread, kNames[static_cast<size_t>(file)]).c_str(), O_RDONLY | O_CLOEXEC);
}

std::string_view ReadThreadFile(const base::Thread& thread, ThreadFile file, const ThreadFiles* files,
                                char* buffer, size_t size_bytes) {
  const int fd = files == nullptr ? -1 : files->DescriptorOf(thread.tid, file);
  if (fd < 0) {
    const base::TaskPath path(thread, kNames[static_cast<size_t>(file)]);
    return base::ReadSmallFile(path.c_str(), buffer, size_bytes);
  }
  const ssize_t got = pread(fd, buffer, size_bytes, 0);
  return {buffer, static_cast<size_t>(std::max<ssize_t>(got, 0))};
}

}  // namespace lagwatch::stack
