// SPDX-License-Identifier: Apache-2.0
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "watchdog/waits/bus_message.h"
#include "watchdog/waits/peer_target.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

// The watchdog waits so long for the bus's answer.
constexpr int64_t kBusNs = 10 * base::kNsPerMs;

// Whether one of the inner functions is of a library that sends by a thread of its own, and waits elsewhere
// than at the socket: in a loop of GLib's, or for a condition.
bool IsInBusLibrary(const stack::Stack& stack, const stack::ModuleMap& modules) {
  constexpr uint32_t kInnerFrames = 8;
  constexpr std::string_view kLibraries[] = {"libgio-2.0.so", "libQt5DBus.so", "libQt6DBus.so"};
  for (uint32_t i = 0; i < std::min(stack.frame_count, kInnerFrames); ++i) {
    if (stack.frames[i].module == stack::kNoModule) continue;
    const std::string_view path = modules.module(stack.frames[i].module).path_view();
    const std::string_view name = path.substr(path.rfind('/') + 1);
    if (std::ranges::any_of(kLibraries, [&](std::string_view library) { return name.starts_with(library); }))
      return true;
  }
  return false;
}

std::optional<BusCall> AwaitedCall(int32_t tid, int descriptor, bool is_in_library, int64_t since_ns) {
  const BusCalls& calls = ProcessBusCalls();
  const auto own = calls.LastOf(tid);
  const bool is_own_awaited = own && own->mono_ns >= since_ns;
  if (descriptor != kNoDescriptor) return is_own_awaited && own->fd == descriptor ? own : std::nullopt;
  if (!is_in_library) return std::nullopt;
  const auto workers = calls.LastOfWorkers(since_ns);
  return is_own_awaited && (!workers || workers->mono_ns < own->mono_ns) ? own : workers;
}

}  // namespace

bool FindBusTarget(const base::Thread& thread, const stack::BlockedThread& blocked, const stack::Stack& stack,
                   const stack::ModuleMap& modules, int64_t since_ns, PeerTarget* target, BusCall* call) {
  if (!thread.process.is_own()) return false;
  const auto awaited =
      AwaitedCall(thread.tid, AwaitedDescriptor(thread, blocked), IsInBusLibrary(stack, modules), since_ns);
  if (!awaited) return false;
  const base::Thread sender = base::OwnThread(awaited->tid);
  const uint64_t inode = InodeOfDescriptor(sender, awaited->fd, "socket");
  if (inode == 0) return false;
  const SocketPeer bus = AskAboutSocket(sender, inode);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  const size_t begin = bus.is_abstract ? 1 : 0;
  const size_t size = std::strlen(bus.address);
  if (size == 0 || begin + size >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path + begin, bus.address, size);
  const auto address_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + size +
                                                    1);  // with the zero before or behind it
  const int32_t pid = AskBusForProcess(reinterpret_cast<const sockaddr*>(&address), address_bytes,
                                       awaited->destination, kBusNs);
  if (pid <= 0) return false;
  *target = {.kind = policies::LockKind::kBusCall,
             .number = awaited->serial,
             .pid = pid,
             .has_timeout = blocked.HasTimeLimit()};
  std::memcpy(target->link, bus.address, sizeof bus.address);
  *call = *awaited;
  return true;
}

bool IsAtBus(const base::Thread& thread, std::string_view address) {
  stack::BlockedThread blocked;
  if (stack::ReadThreadActivity(thread, &blocked) != stack::ThreadActivity::kBlocked) return false;
  const int descriptor = AwaitedDescriptor(thread, blocked);
  const uint64_t inode = descriptor == kNoDescriptor ? 0 : InodeOfDescriptor(thread, descriptor, "socket");
  return inode != 0 && AskAboutSocket(thread, inode).address == address;
}

}  // namespace lagwatch::watchdog
