// SPDX-License-Identifier: Apache-2.0
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/threads/lock_owner.h"
#include "watchdog/waits/peers/bus_message.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

// The watchdog waits so long for the bus's answer, which comes late on a busy machine.
constexpr int64_t kBusNs = 50 * base::kNsPerMs;

// Functions that return with the answer, of libraries whose names begin so.
struct Caller {
  std::string_view library;
  std::string_view function;
};
constexpr Caller kCallers[] = {
    {"libgio-2.0.so", "g_dbus_connection_send_message_with_reply_sync"},
    {"libdbus-1.so", "dbus_connection_send_with_reply_and_block"},
    {"libdbus-1.so", "dbus_pending_call_block"},
    {"libsystemd.so", "sd_bus_call"},
    {"libsystemd-shared-", "sd_bus_call"},
};
// QtDBus waits for a condition; while it runs a loop instead, the program answers calls, too.
constexpr std::string_view kQtLibraries[] = {"libQt5DBus.so", "libQt6DBus.so"};

bool IsInCaller(const stack::Frame& frame, const stack::Module& module) {
  return std::ranges::any_of(kCallers, [&](const Caller& caller) {
    if (!module.file_name().starts_with(caller.library)) return false;
    stack::PresentMemory memory(module.process);
    const stack::ExportedSymbols symbols(&memory, module.base, module.load_bias);
    return symbols.Find(caller.function) == module.load_bias + frame.function_offset;
  });
}

bool IsOfQt(const stack::Module& module) {
  return std::ranges::any_of(
      kQtLibraries, [&](std::string_view library) { return module.file_name().starts_with(library); });
}

// In another process, its stack alone shows that a thread does not wait for whatever comes next.
std::optional<BusCall> AwaitedCall(const BusSleeper& sleeper) {
  const auto own = sleeper.calls.LastOf(sleeper.thread.tid);
  const bool is_own_awaited = own && own->mono_ns >= sleeper.since_ns;
  const int descriptor = AwaitedDescriptor(sleeper.thread, sleeper.blocked);
  const bool is_in_call = IsInBusCall(sleeper.blocked, sleeper.stack, sleeper.modules);
  if (descriptor != kNoDescriptor)
    return is_own_awaited && own->fd == descriptor && (is_in_call || sleeper.since_ns != 0) ? own
                                                                                            : std::nullopt;
  if (!is_in_call) return std::nullopt;
  const auto workers = sleeper.calls.LastOfWorkers(sleeper.thread.process, sleeper.since_ns);
  return is_own_awaited && (!workers || workers->mono_ns < own->mono_ns) ? own : workers;
}

}  // namespace

bool IsInBusCall(const stack::BlockedThread& blocked, const stack::Stack& stack,
                 const stack::ModuleMap& modules) {
  constexpr size_t kInnerFrames = 16;
  for (const stack::Frame& frame : stack.view().first(std::min<size_t>(stack.frame_count, kInnerFrames))) {
    if (frame.module == stack::kNoModule) continue;
    const stack::Module& module = modules.module(frame.module);
    if (IsInCaller(frame, module) || (stack::LockOwners::IsInLockCall(blocked) && IsOfQt(module)))
      return true;
  }
  return false;
}

bool FindBusTarget(const BusSleeper& sleeper, PeerTarget* target, BusCall* call) {
  const auto awaited = AwaitedCall(sleeper);
  if (!awaited) return false;
  const base::Thread sender{sleeper.thread.process, awaited->tid};
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
             .has_timeout = sleeper.blocked.HasTimeLimit()};
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
