// SPDX-License-Identifier: Apache-2.0
#include <linux/io_uring.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/waits/ring_requests.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using policies::Doing;

struct RingState {
  uint64_t mask;   // of the requests' places
  uint64_t taken;  // requests that the kernel has taken
  uint64_t ended;  // results so far
  uint64_t inode;  // of the ring
};

bool ReadRingState(const base::Thread& thread, int ring, RingState* state) {
  char leaf[24];
  std::snprintf(leaf, sizeof leaf, "fdinfo/%d", ring);
  char buffer[1024];
  const std::string_view text =
      base::ReadSmallFile(base::TaskPath(thread, leaf).c_str(), buffer, sizeof buffer);
  const size_t mask_at = text.find("SqMask:\t0x");
  if (mask_at == std::string_view::npos) return false;
  std::string_view mask = text.substr(mask_at + std::string_view("SqMask:\t0x").size());
  const auto taken = base::NumberInLine(text, "SqHead:");
  const auto ended = base::NumberInLine(text, "CqTail:");
  const auto inode = base::NumberInLine(text, "ino:");
  if (!base::ConsumeHex(&mask, &state->mask) || !taken || !ended || !inode) return false;
  *state = {.mask = state->mask, .taken = *taken, .ended = *ended, .inode = *inode};
  return true;
}

// The address at which the program has mapped the requests' array; 0 if it has not.
uint64_t FindRequests(const base::Process& process, uint64_t inode) {
  char wanted[64];
  const int size = std::snprintf(wanted, sizeof wanted, " %08llx ", IORING_OFF_SQES);
  char lines[16 * 1024];
  uint64_t address = 0;
  base::ForEachLine(base::ProcessPath(process, "maps").c_str(), lines, [&](std::string_view line) {
    if (!line.ends_with("anon_inode:[io_uring]") ||
        line.find({wanted, static_cast<size_t>(size)}) == std::string_view::npos)
      return true;
    std::string_view number = line.substr(std::min(line.find(' ', line.find(':')), line.size()));
    uint64_t line_inode = 0;
    if (base::ConsumeDecimal(&number, &line_inode) && line_inode == inode) base::ConsumeHex(&line, &address);
    return address == 0;
  });
  return address;
}

// Returns the kind of a request whose descriptor says nothing of its wait.
Doing WhatOperationAwaits(uint8_t operation) {
  switch (operation) {
    case IORING_OP_TIMEOUT:
      return Doing::kSleep;
    case IORING_OP_ACCEPT:
    case IORING_OP_CONNECT:
      return Doing::kNetwork;
    default:
      return Doing::kDisk;
  }
}

// Whether the request waits for what its descriptor does: not where that is only the folder of a path.
bool IsOnDescriptor(uint8_t operation) {
  switch (operation) {
    case IORING_OP_READV:
    case IORING_OP_WRITEV:
    case IORING_OP_READ:
    case IORING_OP_WRITE:
    case IORING_OP_READ_FIXED:
    case IORING_OP_WRITE_FIXED:
    case IORING_OP_POLL_ADD:
    case IORING_OP_SENDMSG:
    case IORING_OP_RECVMSG:
    case IORING_OP_SEND:
    case IORING_OP_RECV:
    case IORING_OP_CONNECT:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::span<const RingRequest> ReadPendingRequests(const base::Thread& thread, int ring,
                                                 std::span<RingRequest> room) {
  RingState state{};
  if (!ReadRingState(thread, ring, &state) || state.taken <= state.ended) return {};
  const uint64_t requests = FindRequests(thread.process, state.inode);
  const uint64_t pending = std::min({state.taken - state.ended, state.mask + 1, uint64_t{room.size()}});
  size_t count = 0;
  for (uint64_t i = 1; requests != 0 && i <= pending; ++i) {
    struct {
      uint8_t operation;
      uint8_t flags;
      uint16_t priority;
      int32_t descriptor;
    } request;
    static_assert(offsetof(io_uring_sqe, fd) == 4);
    const uint64_t place = (state.taken - i) & state.mask;
    if (!thread.process.ReadValue(requests + place * sizeof(io_uring_sqe), &request)) return {};
    // The number of a registered file is no descriptor.
    const bool is_known = IsOnDescriptor(request.operation) && (request.flags & IOSQE_FIXED_FILE) == 0;
    room[count++] = {.descriptor = is_known ? request.descriptor : kNoDescriptor,
                     .doing = WhatOperationAwaits(request.operation)};
  }
  return room.first(count);
}

}  // namespace lagwatch::watchdog
