// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/service/service_manager.h"

namespace lagwatch::watchdog {
namespace {

// The variable's value as a number above 0; 0 when it is something else.
uint64_t NumberIn(const char* variable) {
  const char* value = std::getenv(variable);
  std::string_view text = value == nullptr ? "" : value;
  uint64_t number = 0;
  return base::ConsumeDecimal(&text, &number) && text.empty() ? number : 0;
}

}  // namespace

std::optional<ServiceManager> ServiceManager::FromEnvironment() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  const bool is_for_us =
      std::getenv("WATCHDOG_PID") == nullptr || NumberIn("WATCHDOG_PID") == static_cast<uint64_t>(getpid());
  if (!is_for_us) return std::nullopt;
  return At(socket == nullptr ? "" : socket, NumberIn("WATCHDOG_USEC"));
}

std::optional<ServiceManager> ServiceManager::At(std::string_view path, uint64_t timeout_us) {
  constexpr uint64_t kLongestUs = uint64_t{1} << 50;
  ServiceManager manager;
  const bool is_local = path.starts_with('/') || path.starts_with('@');
  if (timeout_us == 0 || timeout_us > kLongestUs || !is_local || path.size() < 2 ||
      path.size() >= sizeof manager.address.sun_path)
    return std::nullopt;
  manager.address.sun_family = AF_UNIX;
  std::memcpy(manager.address.sun_path, path.data(), path.size());
  const bool is_abstract = path.starts_with('@');
  if (is_abstract) manager.address.sun_path[0] = '\0';  // and no zero at the end, which would be of the name
  manager.address_bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
  manager.timeout_ns = static_cast<int64_t>(timeout_us) * 1000;
  return manager;
}

}  // namespace lagwatch::watchdog
