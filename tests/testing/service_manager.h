// SPDX-License-Identifier: Apache-2.0
// The receiving end of a service manager's notification socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace lagwatch::testing {

class ServiceManager {
 public:
  // Listens at `path`, which begins with a slash, or with '@' for an abstract name.
  explicit ServiceManager(const std::string& path) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (path[0] == '@') address.sun_path[0] = '\0';
    bind(fd_, reinterpret_cast<sockaddr*>(&address),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
  }
  ~ServiceManager() { close(fd_); }
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // The next message; empty when there is none.
  std::string Receive() {
    char text[256];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
    iovec part{.iov_base = text, .iov_len = sizeof text};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(fd_, &message, 0);
    if (size <= 0) return "";
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_type != SCM_CREDENTIALS) continue;
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(header), sizeof sender);
      sender_pid_ = sender.pid;
    }
    return {text, static_cast<size_t>(size)};
  }
  // Of the last message, as the kernel reports it.
  pid_t sender_pid() const { return sender_pid_; }

 private:
  int fd_ = -1;
  pid_t sender_pid_ = 0;
};

}  // namespace lagwatch::testing
