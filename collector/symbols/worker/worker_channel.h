// SPDX-License-Identifier: Apache-2.0
// Messages with file descriptors over a stream socket between two processes: a length of four bytes, then as
// many bytes. Context: background.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

inline constexpr size_t kMaxMessageBytes = 64 << 20;
inline constexpr size_t kMaxMessageFiles = 4;

using ChannelDeadline = std::chrono::steady_clock::time_point;

// Errors, of both: kUnavailable when the peer is gone; kTooLarge when the deadline has passed or the
// message is over a limit. The channel is of no use afterwards.
base::Status SendMessage(int socket, std::string_view bytes, std::span<const int> fds,
                         ChannelDeadline deadline);
// The caller owns the descriptors added to `fds`; without `fds`, none are taken.
base::Result<std::string> ReceiveMessage(int socket, std::vector<int>* fds, ChannelDeadline deadline);

}  // namespace lagwatch::collector
