// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "watchdog/service_feed.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kShortestPeriodNs = 10 * base::kNsPerMs;
constexpr int64_t kRetriesInPeriod = 8;

// The variable's value as a number above 0; 0 when it is something else.
uint64_t NumberIn(const char* variable) {
  const char* value = std::getenv(variable);
  std::string_view text = value == nullptr ? "" : value;
  uint64_t number = 0;
  return base::ConsumeDecimal(&text, &number) && text.empty() ? number : 0;
}

}  // namespace

std::unique_ptr<ServiceFeed> ServiceFeed::FromEnvironment() {
  constexpr uint64_t kLongestUs = uint64_t{1} << 50;
  const char* variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = variable == nullptr ? "" : variable;
  const uint64_t timeout_us = NumberIn("WATCHDOG_USEC");
  const bool is_for_us =
      std::getenv("WATCHDOG_PID") == nullptr || NumberIn("WATCHDOG_PID") == static_cast<uint64_t>(getpid());
  const bool is_local = path.starts_with('/') || path.starts_with('@');
  if (timeout_us == 0 || timeout_us > kLongestUs || !is_for_us || !is_local || path.size() < 2)
    return nullptr;
  std::unique_ptr<ServiceFeed> feed(new (std::nothrow) ServiceFeed);
  if (feed == nullptr || path.size() >= sizeof feed->address_.sun_path) return nullptr;
  feed->address_.sun_family = AF_UNIX;
  std::memcpy(feed->address_.sun_path, path.data(), path.size());
  const bool is_abstract = path.starts_with('@');
  if (is_abstract) feed->address_.sun_path[0] = '\0';  // and no zero at the end, which would be of the name
  feed->address_bytes_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
  feed->period_ns_ = std::max(static_cast<int64_t>(timeout_us) * 1000 / 2, kShortestPeriodNs);
  return feed;
}

void ServiceFeed::Feed(int64_t now_ns) {
  if (now_ns < due_ns_) return;
  const bool is_sent = Send();
  (is_sent ? sent_count_ : failed_count_).Add();
  due_ns_ = now_ns + (is_sent ? period_ns_ : std::max(period_ns_ / kRetriesInPeriod, kShortestPeriodNs));
}

bool ServiceFeed::Send() const {
  constexpr std::string_view kMessage = "WATCHDOG=1";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const ssize_t sent = sendto(fd, kMessage.data(), kMessage.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address_), address_bytes_);
  close(fd);
  return sent == static_cast<ssize_t>(kMessage.size());
}

}  // namespace lagwatch::watchdog
