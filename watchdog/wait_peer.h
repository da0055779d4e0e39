// SPDX-License-Identifier: Apache-2.0
// What is at the other end of what a thread waits for. Only the kernel is asked, never the file itself: its
// disk or server may be what hangs. Context: watchdog.
#pragma once

#include <cstdint>

#include "policies/verdict.h"

namespace lagwatch::watchdog {

// By the link in thread `tid`'s /proc folder, since the watchdog's own descriptors are others. `state` is the
// kernel's letter (S or D), of a thread that is in a call on the descriptor itself.
policies::Doing WhatDescriptorAwaits(int32_t tid, int descriptor, char state);

// Of a set that is polled, by the same rules. Descriptors that only wake a loop up, and timers, do not count
// beside others. Where several kinds are waited for, or too many descriptors: the network. `fds` and `sets`
// are addresses in this process, of pollfd[] and of up to three fd_set.
policies::Doing WhatPollAwaits(int32_t tid, uint64_t fds, uint64_t count);
policies::Doing WhatSelectAwaits(int32_t tid, int limit, const uint64_t (&sets)[3]);
policies::Doing WhatEpollAwaits(int32_t tid, int epoll);

}  // namespace lagwatch::watchdog
