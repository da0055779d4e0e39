// SPDX-License-Identifier: Apache-2.0
// Finds the process at the other end of a wait. Only the kernel is asked, never the file itself: its disk or
// server may be what hangs. Context: watchdog.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/process/process.h"
#include "policies/verdict.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

inline constexpr int kNoDescriptor = -1;

// By the link in `thread`'s /proc folder, since the watchdog's own descriptors are others. `state` is the
// kernel's letter (S or D), of a thread that is in a call on the descriptor itself.
policies::Doing WhatDescriptorAwaits(const base::Thread& thread, int descriptor, char state);

// Of a thread in poll(2), select(2), epoll_wait(2) or their kin, by the same rules; none in another call.
// Descriptors that only wake a loop up, and timers, do not count beside others. Where several kinds are
// waited for, or too many descriptors: the network; where none is: a sleep. `only`, which may be null,
// becomes the descriptor that is waited for where it is one; else kNoDescriptor.
std::optional<policies::Doing> WhatSetAwaits(const base::Thread& thread, const stack::BlockedThread& blocked,
                                             int* only = nullptr);

// By the requests that were given last to the io_uring `ring` of `thread`, as many as have not ended;
// kUnknown where they cannot be read. `only` as for WhatSetAwaits().
policies::Doing WhatRingAwaits(const base::Thread& thread, int ring, int* only = nullptr);

// The one descriptor that the call waits for, alone or in a set; else kNoDescriptor.
int AwaitedDescriptor(const base::Thread& thread, const stack::BlockedThread& blocked);

// The access (S_IRUSR, S_IWUSR) of the other end of the pipe that a thread has open as `descriptor`; 0: any.
mode_t AccessOfOtherEnd(const base::Thread& thread, int descriptor);

// The other end of a socket.
struct SocketPeer {
  policies::Doing doing = policies::Doing::kUnknown;
  uint32_t inode = 0;        // of a unix socket's peer; 0: not known
  char address[112] = {};    // of a unix socket's server, or of the name server; may be empty
  bool is_abstract = false;  // the address is no path
};
// Asks the kernel. `inode` is the socket's own.
SocketPeer AskAboutSocket(const base::Thread& thread, uint64_t inode);

// The number in the line of /proc's fdinfo of `thread`'s descriptor that begins with `key`, as "Pid:".
// None if the kernel does not report it.
std::optional<uint64_t> NumberInFdInfo(const base::Thread& thread, int descriptor, std::string_view key);

// The link of `thread`'s descriptor in /proc, as far as it fits; empty if there is none.
std::string_view LinkOfDescriptor(const base::Thread& thread, int descriptor, std::span<char> room);

// The number in the link of `thread`'s descriptor, as in "socket:[7]": `kind` is the text before the
// brackets. 0 if the descriptor is of another kind.
uint64_t InodeOfDescriptor(const base::Thread& thread, int descriptor, const char* kind);

}  // namespace lagwatch::watchdog
