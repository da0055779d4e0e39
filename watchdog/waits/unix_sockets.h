// SPDX-License-Identifier: Apache-2.0
// The kernel's answers about unix sockets, by their inodes: sock_diag(7). Linux. Context: watchdog.
#pragma once

#include <cstdint>
#include <optional>

namespace lagwatch::watchdog {

struct UnixSocket {
  uint32_t peer_inode = 0;
  char name[108] = {};  // where it was bound; of an abstract one without the zero before it
  bool is_abstract = false;
};

// None when `inode` is no unix socket's.
std::optional<UnixSocket> FindUnixSocket(uint32_t inode);

// The listener whose queue holds the connection that socket `inode` made. 0: none.
uint32_t FindListenerOf(uint32_t inode);

}  // namespace lagwatch::watchdog
