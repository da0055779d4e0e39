// SPDX-License-Identifier: Apache-2.0
// The calls by which sd_notify(3) and similar functions send "WATCHDOG=1". Compiled without exceptions,
// because a thread may be cancelled in them: see thread_waits.h.
#include "sdk/preload/notify_hooks.h"

#include <sys/socket.h>

#include "base/clock.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/wait_tracker.h"

namespace lagwatch::sdk {

constinit std::atomic<watchdog::ServiceBeats*> g_service_beats{nullptr};

void WatchServiceBeats() { g_service_beats.store(watchdog::ServiceBeats::FromEnvironment().release()); }

namespace {

constinit NextFunction<ssize_t(int, const void*, size_t, int)> g_send("send");
constinit NextFunction<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> g_sendto("sendto");
constinit NextFunction<ssize_t(int, const msghdr*, int)> g_sendmsg("sendmsg");

// Before main(): see NextFunction.
[[gnu::constructor]] void FindSends() {
  g_send.Find();
  g_sendto.Find();
  g_sendmsg.Find();
}

[[gnu::noinline]] void NoteIfBeat(int fd, const void* address, socklen_t address_bytes, const iovec* text,
                                  size_t count) {
  watchdog::ServiceBeats* beats = g_service_beats.load(std::memory_order_relaxed);
  if (!beats->IsBeat(fd, address, address_bytes, text, count) || !OwnsMemory()) return;
  beats->Note(base::SystemClock().MonoNs());
  LookAtServiceBeats();
}

bool IsWatched(ssize_t sent) {
  return sent > 0 && g_service_beats.load(std::memory_order_relaxed) != nullptr;
}

}  // namespace
}  // namespace lagwatch::sdk

#define LAGWATCH_HOOK __attribute__((visibility("default")))

extern "C" {

LAGWATCH_HOOK ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  const ssize_t sent = lagwatch::sdk::g_send(fd, bytes, size, flags);
  if (lagwatch::sdk::IsWatched(sent)) [[unlikely]] {
    const iovec text{const_cast<void*>(bytes), size};
    lagwatch::sdk::NoteIfBeat(fd, nullptr, 0, &text, 1);
  }
  return sent;
}

LAGWATCH_HOOK ssize_t sendto(int fd, const void* bytes, size_t size, int flags, const sockaddr* address,
                             socklen_t address_bytes) {
  const ssize_t sent = lagwatch::sdk::g_sendto(fd, bytes, size, flags, address, address_bytes);
  if (lagwatch::sdk::IsWatched(sent)) [[unlikely]] {
    const iovec text{const_cast<void*>(bytes), size};
    lagwatch::sdk::NoteIfBeat(fd, address, address_bytes, &text, 1);
  }
  return sent;
}

LAGWATCH_HOOK ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t sent = lagwatch::sdk::g_sendmsg(fd, message, flags);
  if (lagwatch::sdk::IsWatched(sent)) [[unlikely]] {
    lagwatch::sdk::NoteIfBeat(fd, message->msg_name, message->msg_namelen, message->msg_iov,
                              message->msg_iovlen);
  }
  return sent;
}

}  // extern "C"
