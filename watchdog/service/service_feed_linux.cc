// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <new>
#include <string_view>

#include "base/clock.h"
#include "watchdog/service/service_feed.h"

namespace lagwatch::watchdog {
namespace {

constexpr int64_t kShortestPeriodNs = 10 * base::kNsPerMs;
constexpr int64_t kRetriesInPeriod = 8;

}  // namespace

std::unique_ptr<ServiceFeed> ServiceFeed::FromEnvironment() {
  const auto manager = ServiceManager::FromEnvironment();
  if (!manager) return nullptr;
  std::unique_ptr<ServiceFeed> feed(new (std::nothrow) ServiceFeed);
  if (feed == nullptr) return nullptr;
  feed->manager_ = *manager;
  feed->period_ns_ = std::max(manager->timeout_ns / 2, kShortestPeriodNs);
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
                              reinterpret_cast<const sockaddr*>(&manager_.address), manager_.address_bytes);
  close(fd);
  return sent == static_cast<ssize_t>(kMessage.size());
}

}  // namespace lagwatch::watchdog
