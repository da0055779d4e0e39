// SPDX-License-Identifier: Apache-2.0
// The service manager that expects "WATCHDOG=1" from this process in time: sd_watchdog_enabled(3).
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace lagwatch::watchdog {

struct ServiceManager {
  sockaddr_un address{};  // of its socket
  socklen_t address_bytes = 0;
  int64_t timeout_ns = 0;  // without a notification for so long, it ends the service

  // As the environment says: NOTIFY_SOCKET, WATCHDOG_USEC and, if it is there, WATCHDOG_PID. None when no
  // manager waits for this process, or by another kind of socket than a local one. Context: background.
  static std::optional<ServiceManager> FromEnvironment();
  // By the values of the first two of these variables. Context: background.
  static std::optional<ServiceManager> At(std::string_view socket, uint64_t timeout_us);
};

}  // namespace lagwatch::watchdog
