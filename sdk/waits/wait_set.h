// SPDX-License-Identifier: Apache-2.0
// Context: hot; compiled without exceptions.
#pragma once

#include <poll.h>
#include <sys/select.h>

#include <cstddef>
#include <cstdint>

#include "base/process/process.h"

namespace lagwatch::sdk {

// The descriptors of a wait, as the host passes them. The memory that it points to need not be readable: a
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
  // Whether it is read from where `other` is, and no further.
  bool IsWithin(const WaitSet& other) const;
  // Copies up to `capacity` of its descriptors, and returns how many; none where they cannot be read. The
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

// The source of the events of a descriptor.
enum class DescriptorSource : uint8_t {
  kAny,
  kEvent,  // is waited for only in order to be woken up
  kUser,   // standard input, or a terminal
};

// Of a descriptor of the process. Reads a link in /proc, and opens nothing.
DescriptorSource SourceOf(const base::Process& process, int descriptor);

bool IsOpenDescriptor(const base::Process& process, int descriptor);

}  // namespace lagwatch::sdk
