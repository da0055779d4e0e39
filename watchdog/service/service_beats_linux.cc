// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <new>
#include <string_view>

#include "base/clock.h"
#include "watchdog/service/service_beats.h"

namespace lagwatch::watchdog {
namespace {

constexpr std::string_view kBeat = "WATCHDOG=1";

// A line of the text; messages of the protocol are short.
bool HasBeat(const iovec& piece) {
  constexpr size_t kLongestBytes = 4096;
  if (piece.iov_len < kBeat.size() || piece.iov_len > kLongestBytes) return false;
  const std::string_view text(static_cast<const char*>(piece.iov_base), piece.iov_len);
  const size_t at = text.find(kBeat);
  if (at == std::string_view::npos || (at != 0 && text[at - 1] != '\n')) return false;
  const size_t end = at + kBeat.size();
  return end == text.size() || text[end] == '\n' || text[end] == '\0';
}

// A path ends with its first zero, whatever follows: many pass the whole structure. An abstract name begins
// with one, and has all bytes.
std::string_view NameIn(const sockaddr_un& address, socklen_t address_bytes) {
  const std::string_view name(address.sun_path, address_bytes - offsetof(sockaddr_un, sun_path));
  return name.starts_with('\0') ? name : name.substr(0, name.find('\0'));
}

}  // namespace

std::unique_ptr<ServiceBeats> ServiceBeats::FromEnvironment() {
  const auto manager = ServiceManager::FromEnvironment();
  return manager ? For(*manager) : nullptr;
}

std::unique_ptr<ServiceBeats> ServiceBeats::For(const ServiceManager& manager) {
  std::unique_ptr<ServiceBeats> beats(new (std::nothrow) ServiceBeats);
  if (beats == nullptr) return nullptr;
  beats->manager_ = manager;
  beats->pid_ = getpid();
  return beats;
}

bool ServiceBeats::IsBeat(int fd, const void* address, socklen_t address_bytes, const iovec* text,
                          size_t count) const {
  if (count != 1 || !HasBeat(text[0])) return false;
  sockaddr_un peer{};
  if (address == nullptr) {
    const int error = errno;
    address_bytes = sizeof peer;
    const bool is_known = getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &address_bytes) == 0;
    errno = error;
    if (!is_known) return false;
    address = &peer;
  }
  if (address_bytes < sizeof peer.sun_family || address_bytes > sizeof peer) return false;
  if (address != &peer) std::memcpy(&peer, address, address_bytes);
  return peer.sun_family == manager_.address.sun_family &&
         NameIn(peer, address_bytes) == NameIn(manager_.address, manager_.address_bytes);
}

void ServiceBeats::Note(int64_t now_ns) {
  last_tid_.store(gettid(), std::memory_order_relaxed);
  last_ns_.store(now_ns, std::memory_order_release);
  count_.fetch_add(1);
}

int64_t ServiceBeats::due_ns() const {
  const int64_t last_ns = last_ns_.load(std::memory_order_acquire);
  if (count_.load() < 2 || last_ns == reported_ns_) return INT64_MAX;
  return last_ns + manager_.timeout_ns / 100 * kLatePercent;
}

bool ServiceBeats::TakeLate(int64_t now_ns, Late* late) {
  if (now_ns < due_ns()) return false;
  const int64_t last_ns = last_ns_.load(std::memory_order_acquire);
  *late = {.since_ns = last_ns, .timeout_ns = manager_.timeout_ns, .tid = last_tid_.load()};
  reported_ns_ = last_ns;
  return true;
}

}  // namespace lagwatch::watchdog
