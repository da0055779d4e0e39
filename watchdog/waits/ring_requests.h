// SPDX-License-Identifier: Apache-2.0
// The requests that an io_uring works at. Linux. Context: watchdog.
#pragma once

#include <cstdint>
#include <span>

#include "base/process/process.h"
#include "policies/verdict.h"

namespace lagwatch::watchdog {

struct RingRequest {
  int descriptor = -1;  // -1: it is for `doing`
  policies::Doing doing = policies::Doing::kDisk;
};

// Those given last to the ring that `thread` has open as `ring`, as many as have not ended, and as fit into
// `room`. None where the kernel does not show them. Which of the requests have not ended is not on record: an
// old one may be taken for ended, and a newer one not.
std::span<const RingRequest> ReadPendingRequests(const base::Thread& thread, int ring,
                                                 std::span<RingRequest> room);

}  // namespace lagwatch::watchdog
