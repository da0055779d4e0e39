// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/worker/worker_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

namespace lagwatch::collector {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

union ControlBuffer {
  cmsghdr alignment;
  char bytes[CMSG_SPACE(sizeof(int) * kMaxMessageFiles)];
};

Status Gone() { return {StatusCode::kUnavailable, "the peer is gone"}; }

// Waits until the socket is ready; starts again after interruptions.
Status Await(int socket, short events, ChannelDeadline deadline) {
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return {StatusCode::kTooLarge, "it takes too long"};
    pollfd ready{.fd = socket, .events = events, .revents = 0};
    int count = poll(&ready, 1, static_cast<int>(std::min<int64_t>(left.count(), INT32_MAX)));
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return Gone();
  }
}

// True when the call is to be made again.
bool IsPassing(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

void Attach(std::span<const int> fds, ControlBuffer* control, msghdr* message) {
  if (fds.empty()) return;
  message->msg_control = control->bytes;
  message->msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
}

Status SendAll(int socket, std::string_view bytes, std::span<const int> fds, ChannelDeadline deadline) {
  while (!bytes.empty()) {
    if (Status ready = Await(socket, POLLOUT, deadline); !ready.ok()) return ready;
    iovec piece{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    ControlBuffer control{};
    Attach(fds, &control, &message);
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (IsPassing(sent)) continue;
    if (sent <= 0) return Gone();
    fds = {};
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

void TakeFiles(msghdr* message, std::vector<int>* fds) {
  for (cmsghdr* header = CMSG_FIRSTHDR(message); header != nullptr; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const size_t before = fds->size();
    fds->resize(before + count);
    std::memcpy(fds->data() + before, CMSG_DATA(header), count * sizeof(int));
  }
}

Status ReceiveAll(int socket, char* to, size_t size_bytes, std::vector<int>* fds, ChannelDeadline deadline) {
  while (size_bytes > 0) {
    if (Status ready = Await(socket, POLLIN, deadline); !ready.ok()) return ready;
    iovec piece{.iov_base = to, .iov_len = size_bytes};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    ControlBuffer control{};
    if (fds != nullptr) {
      message.msg_control = control.bytes;
      message.msg_controllen = sizeof control.bytes;
    }
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (IsPassing(received)) continue;
    if (received <= 0) return Gone();
    if (fds != nullptr) TakeFiles(&message, fds);
    to += received;
    size_bytes -= static_cast<size_t>(received);
  }
  return {};
}

}  // namespace

Status SendMessage(int socket, std::string_view bytes, std::span<const int> fds, ChannelDeadline deadline) {
  if (bytes.size() > kMaxMessageBytes || fds.size() > kMaxMessageFiles) {
    return {StatusCode::kTooLarge, "the message is too large"};
  }
  const auto length = static_cast<uint32_t>(bytes.size());
  std::string_view head(reinterpret_cast<const char*>(&length), sizeof length);
  if (Status sent = SendAll(socket, head, fds, deadline); !sent.ok()) return sent;
  return SendAll(socket, bytes, {}, deadline);
}

base::Result<std::string> ReceiveMessage(int socket, std::vector<int>* fds, ChannelDeadline deadline) {
  uint32_t length = 0;
  Status received = ReceiveAll(socket, reinterpret_cast<char*>(&length), sizeof length, fds, deadline);
  if (!received.ok()) return received;
  if (length > kMaxMessageBytes) return Status(StatusCode::kTooLarge, "the message is too large");
  std::string bytes;
  // Memory grows with the received bytes, not with the announced size.
  while (bytes.size() < length) {
    const size_t filled = bytes.size();
    bytes.resize(std::min<size_t>(length, filled + kPieceBytes));
    received = ReceiveAll(socket, bytes.data() + filled, bytes.size() - filled, fds, deadline);
    if (!received.ok()) return received;
  }
  return bytes;
}

}  // namespace lagwatch::collector
