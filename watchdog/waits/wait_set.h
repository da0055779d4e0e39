// SPDX-License-Identifier: Apache-2.0
// The set of descriptors that a thread waits for by poll(2), select(2), epoll_wait(2) or their kin: the one
// place that reads such sets. Context: hot.
#pragma once

#include <poll.h>
#include <sys/select.h>

#include <cstddef>
#include <cstdint>

#include "base/process/process.h"

namespace lagwatch::watchdog {

// The descriptors of a wait, as the program passes them. The memory that it points to need not be readable: a
// program that passes too much only gets an error from the kernel.
class WaitSet {
 public:
  static constexpr size_t kMaxPolled = 64;  // descriptors that are looked at of a set

  static WaitSet Epoll(int epoll) { return WaitSet(epoll); }
  // Not const: glibc declares that poll(2) only writes to `fds`, so GCC takes the array for uninitialized.
  static WaitSet Poll(pollfd* fds, nfds_t count) { return WaitSet(fds, count); }
  // Null sets are empty.
  static WaitSet Select(int limit, const fd_set* reads, const fd_set* writes, const fd_set* exceptions) {
    return WaitSet(limit, reads, writes, exceptions);
  }

  constexpr WaitSet() = default;
  bool is_epoll() const { return kind_ == WaitCallKind::kEpoll; }
  bool is_poll() const { return kind_ == WaitCallKind::kPoll; }
  // The kernel leaves in it only what is ready.
  bool is_select() const { return kind_ == WaitCallKind::kSelect; }
  int epoll() const { return epoll_; }
  // Whether there is no place for a descriptor in it: then the call is a sleep.
  bool is_empty() const { return kind_ != WaitCallKind::kEpoll && count_ == 0; }
  // Whether it has more entries than are read of a poll's.
  bool is_cut() const { return is_poll() && count_ > kMaxPolled; }
  // Only the descriptors that are waited for to be read, as far as the call has a set of its own for them.
  WaitSet ForReading() const {
    WaitSet set = *this;
    set.sets_[1] = set.sets_[2] = nullptr;
    return set;
  }
  // Whether it is read from where `other` is, and no further.
  bool IsWithin(const WaitSet& other) const;
  // Copies up to `capacity` of its descriptors, each once, and returns how many; none where they cannot be
  // read, and none of an epoll, whose set the kernel has (watchdog/waits/sleeping_call.h). The
  // memory is of `process`; with `is_readable`, of this one, which reads it without asking the kernel.
  size_t CopyDescriptors(const base::Process& process, bool is_readable, int* descriptors,
                         size_t capacity) const;

 private:
  enum class WaitCallKind : uint8_t { kEpoll, kPoll, kSelect };
  explicit WaitSet(int epoll) : kind_(WaitCallKind::kEpoll), epoll_(epoll) {}
  WaitSet(const pollfd* fds, nfds_t count) : kind_(WaitCallKind::kPoll), fds_(fds), count_(count) {}
  WaitSet(int limit, const fd_set* reads, const fd_set* writes, const fd_set* exceptions)
      : kind_(WaitCallKind::kSelect),
        sets_{reads, writes, exceptions},
        count_(limit < 0 ? 0 : static_cast<size_t>(limit)) {}

  WaitCallKind kind_ = WaitCallKind::kEpoll;
  int epoll_ = 0;
  const pollfd* fds_ = nullptr;
  const fd_set* sets_[3] = {};
  size_t count_ = 0;
};

}  // namespace lagwatch::watchdog
