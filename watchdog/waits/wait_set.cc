// SPDX-License-Identifier: Apache-2.0
#include "watchdog/waits/wait_set.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace lagwatch::watchdog {
namespace {

size_t Read(const base::Process& process, bool is_readable, const void* source, void* destination,
            size_t size_bytes) {
  if (!is_readable) return process.Read(reinterpret_cast<uint64_t>(source), destination, size_bytes);
  std::memcpy(destination, source, size_bytes);
  return size_bytes;
}

}  // namespace

bool WaitSet::IsWithin(const WaitSet& other) const {
  return kind_ == other.kind_ && fds_ == other.fds_ && std::ranges::equal(sets_, other.sets_) &&
         count_ <= other.count_;
}

size_t WaitSet::CopyDescriptors(const base::Process& process, bool is_readable, int* descriptors,
                                size_t capacity) const {
  const int saved_errno = errno;
  size_t found = 0;
  auto holds = [&](int descriptor) {
    return std::ranges::count(descriptors, descriptors + found, descriptor) != 0;
  };
  auto add = [&](int descriptor) {
    if (found < capacity && !holds(descriptor)) descriptors[found++] = descriptor;
  };
  if (kind_ == WaitCallKind::kPoll && count_ != 0) {
    pollfd fds[kMaxPolled];
    const size_t bytes = std::min(count_, std::size(fds)) * sizeof fds[0];
    const size_t count = Read(process, is_readable, fds_, fds, bytes) / sizeof fds[0];
    for (size_t i = 0; i < count; ++i) {
      if (fds[i].fd >= 0) add(fds[i].fd);  // the kernel passes over others, too
    }
  }
  for (const fd_set* set : sets_) {
    if (set == nullptr) continue;
    uint64_t words[FD_SETSIZE / 64] = {};
    const size_t bytes = std::min((count_ + 63) / 64 * 8, sizeof words);
    Read(process, is_readable, set, words, bytes);
    for (size_t i = 0; i < bytes / 8; ++i) {
      for (uint64_t word = words[i]; word != 0; word &= word - 1) {
        const size_t descriptor = i * 64 + static_cast<size_t>(__builtin_ctzll(word));
        if (descriptor < count_) add(static_cast<int>(descriptor));
      }
    }
  }
  errno = saved_errno;
  return found;
}

}  // namespace lagwatch::watchdog
