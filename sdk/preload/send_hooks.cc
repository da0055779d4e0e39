// SPDX-License-Identifier: Apache-2.0
// The calls by which libraries send "WATCHDOG=1" to the service manager, and calls of methods to a D-Bus.
// Compiled without exceptions, because a thread may be cancelled in them: see thread_waits.cc.
#include <sys/socket.h>

#include <algorithm>

#include "base/clock.h"
#include "base/system/float_environment.h"
#include "sdk/preload/next_function.h"
#include "sdk/preload/watch/process_watch.h"
#include "watchdog/waits/peers/bus_calls.h"

namespace lagwatch::sdk {

namespace {

constinit NextFunction<ssize_t(int, const void*, size_t, int)> g_send("send");
constinit NextFunction<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> g_sendto("sendto");
constinit NextFunction<ssize_t(int, const msghdr*, int)> g_sendmsg("sendmsg");

// Before main(): see NextFunction.
[[gnu::constructor]] void FindSends() { FindAll(g_send, g_sendto, g_sendmsg); }

[[gnu::noinline]] void NoteIfBeat(int fd, const void* address, socklen_t address_bytes, const iovec* text,
                                  size_t count) {
  watchdog::ServiceBeats* beats = g_service_beats.load(std::memory_order_relaxed);
  if (!beats->IsBeat(fd, address, address_bytes, text, count) || !OwnsMemory()) return;
  beats->Note(base::SystemClock().MonoNs());
  LookAtServiceBeats();
}

[[gnu::noinline]] void NoteBusCall(int fd, const iovec* pieces, size_t count, size_t sent) {
  if (OwnsMemory()) watchdog::ProcessBusCalls().Note(fd, pieces, count, sent, base::SystemClock().MonoNs());
}

// `sent` is the call's result; `first` has the first bytes of what was sent.
bool IsWatched(ssize_t sent, const iovec* first) {
  if (sent <= 0) return false;
  return g_service_beats.load(std::memory_order_relaxed) != nullptr ||
         watchdog::BusCalls::MayBeCall(first->iov_base, std::min<size_t>(first->iov_len, sent));
}

[[gnu::noinline]] void Note(int fd, const void* address, socklen_t address_bytes, const iovec* pieces,
                            size_t count, size_t sent) {
  const base::ScopedFloatEnvironment floats;
  if (watchdog::BusCalls::MayBeCall(pieces->iov_base, std::min(pieces->iov_len, sent)))
    return NoteBusCall(fd, pieces, count, sent);
  if (g_service_beats.load(std::memory_order_relaxed) != nullptr)
    NoteIfBeat(fd, address, address_bytes, pieces, count);
}

}  // namespace
}  // namespace lagwatch::sdk

#define LAGWATCH_HOOK __attribute__((visibility("default")))

extern "C" {

LAGWATCH_HOOK ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  const ssize_t sent = lagwatch::sdk::g_send(fd, bytes, size, flags);
  const iovec text{const_cast<void*>(bytes), size};
  if (lagwatch::sdk::IsWatched(sent, &text)) [[unlikely]]
    lagwatch::sdk::Note(fd, nullptr, 0, &text, 1, sent);
  return sent;
}

LAGWATCH_HOOK ssize_t sendto(int fd, const void* bytes, size_t size, int flags, const sockaddr* address,
                             socklen_t address_bytes) {
  const ssize_t sent = lagwatch::sdk::g_sendto(fd, bytes, size, flags, address, address_bytes);
  const iovec text{const_cast<void*>(bytes), size};
  if (lagwatch::sdk::IsWatched(sent, &text)) [[unlikely]]
    lagwatch::sdk::Note(fd, address, address_bytes, &text, 1, sent);
  return sent;
}

LAGWATCH_HOOK ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  const ssize_t sent = lagwatch::sdk::g_sendmsg(fd, message, flags);
  if (sent > 0 && message->msg_iovlen != 0 && lagwatch::sdk::IsWatched(sent, message->msg_iov)) [[unlikely]] {
    lagwatch::sdk::Note(fd, message->msg_name, message->msg_namelen, message->msg_iov, message->msg_iovlen,
                        sent);
  }
  return sent;
}

}  // extern "C"
