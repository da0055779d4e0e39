// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "stack/threads/thread_state.h"
#include "watchdog/waits/ring_requests.h"
#include "watchdog/waits/sleeping_call.h"
#include "watchdog/waits/unix_sockets.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using policies::Doing;

constexpr size_t kMostInSet = 8;

// A pipe with a name looks like any file, but not in the kernel.
bool IsInPipe(const base::Thread& thread) {
  char channel[64];
  stack::ReadWaitChannel(thread, channel, sizeof channel);
  return std::string_view(channel).find("pipe") != std::string_view::npos;
}

Doing WhatServerIs(std::string_view name) {
  if (name.find("/.X11-unix/") != std::string_view::npos) return Doing::kDisplay;
  const std::string_view file = name.substr(name.rfind('/') + 1);
  if (file.starts_with("wayland-")) return Doing::kDisplay;
  if (name.find("/nscd/") != std::string_view::npos ||
      name.find("/systemd/resolve/") != std::string_view::npos)
    return Doing::kNameLookup;
  return Doing::kService;
}

// "127.0.0.53:53" of "3500007F:0035", as the kernel has it: words of four bytes in this machine's order.
void WriteAddress(std::string_view text, char* address, size_t size_bytes) {
  unsigned char bytes[16] = {};
  size_t count = 0;
  for (; count < sizeof bytes && text.size() > count * 2 + 8 - 1; count += 4) {
    std::string_view word = text.substr(count * 2, 8);
    uint64_t number = 0;
    if (!base::ConsumeHex(&word, &number) || !word.empty()) break;
    const auto copied = static_cast<uint32_t>(number);
    std::memcpy(bytes + count, &copied, sizeof copied);
  }
  char numbers[INET6_ADDRSTRLEN] = {};
  if (inet_ntop(count == 4 ? AF_INET : AF_INET6, bytes, numbers, sizeof numbers) == nullptr) return;
  std::snprintf(address, size_bytes, count == 4 ? "%s:53" : "[%s]:53", numbers);
}

// Whether the datagram socket is connected to a name server; then that one's address.
bool IsNameLookup(const base::Thread& thread, uint64_t inode, char* address, size_t size_bytes) {
  for (const char* table : {"net/udp", "net/udp6"}) {
    char buffer[8192];
    std::string_view text = base::ReadSmallFile(base::TaskPath(thread, table).c_str(), buffer, sizeof buffer);
    for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(end + 1);
      char remote_port[5] = {};
      unsigned long line_inode = 0;
      char copy[256];
      const size_t size = std::min(line.size(), sizeof copy - 1);
      std::memcpy(copy, line.data(), size);
      copy[size] = '\0';
      char remote[33] = {};
      const int parts = std::sscanf(copy, " %*d: %*[0-9A-F]:%*4s %32[0-9A-F]:%4s %*s %*s %*s %*s %*s %*s %lu",
                                    remote, remote_port, &line_inode);
      if (parts != 3 || line_inode != inode) continue;
      const bool is_lookup = std::string_view(remote_port) == "0035";
      if (is_lookup) WriteAddress(remote, address, size_bytes);
      return is_lookup;
    }
  }
  return false;
}

Doing WhatPeerIs(const UnixSocket& own, const std::optional<UnixSocket>& peer) {
  if (peer && peer->name[0] != '\0') return WhatServerIs(peer->name);
  // A pair; or a server, which waits for its client.
  return own.name[0] == '\0' && peer ? Doing::kPipe : Doing::kService;
}

}  // namespace

// In the thread's own table: the watchdog's, and that of a main thread that has ended, are others.
std::string_view LinkOfDescriptor(const base::Thread& thread, int descriptor, std::span<char> room) {
  char leaf[24];
  std::snprintf(leaf, sizeof leaf, "fd/%d", descriptor);
  const ssize_t size = readlink(base::TaskPath(thread, leaf).c_str(), room.data(), room.size());
  return {room.data(), size <= 0 ? 0 : static_cast<size_t>(size)};
}

SocketPeer AskAboutSocket(const base::Thread& thread, uint64_t inode) {
  const std::optional<UnixSocket> own = FindUnixSocket(static_cast<uint32_t>(inode));
  std::optional<UnixSocket> peer;
  if (own && own->peer_inode != 0) peer = FindUnixSocket(own->peer_inode);
  SocketPeer found;
  if (!own) {
    const bool is_lookup = IsNameLookup(thread, inode, found.address, sizeof found.address);
    found.doing = is_lookup ? Doing::kNameLookup : Doing::kNetwork;
    return found;
  }
  found.doing = WhatPeerIs(*own, peer);
  found.inode = own->peer_inode;
  if (peer) std::memcpy(found.address, peer->name, sizeof peer->name);
  found.is_abstract = peer && peer->is_abstract;
  return found;
}

namespace {

// Asks once for each of the last sockets: a hang is looked at many times. Of no thread's own: that memory may
// have to be allocated, and the hang may be in there.
Doing WhatSocketAwaits(const base::Thread& thread, uint64_t inode) {
  constexpr int kInodeShift = 8;
  static constinit std::atomic<uint64_t> answers[8] = {};  // the inode and its kind
  std::atomic<uint64_t>& answer = answers[inode % std::size(answers)];
  const uint64_t known = answer.load(std::memory_order_relaxed);  // whole in itself
  if (known >> kInodeShift == inode) return static_cast<Doing>(known & 0xff);
  const Doing doing = AskAboutSocket(thread, inode).doing;
  answer.store(inode << kInodeShift | static_cast<uint64_t>(doing), std::memory_order_relaxed);
  return doing;
}

// Whether a user is at the other end, maybe by an emulator, whose own end is `/dev/ptmx`.
bool IsTerminal(std::string_view name) {
  constexpr std::string_view kPseudo = "/dev/pts/";
  constexpr std::string_view kConsole = "/dev/tty";
  const auto is_number = [&](std::string_view prefix) {
    return name.starts_with(prefix) && name.size() > prefix.size() && '0' <= name[prefix.size()] &&
           name[prefix.size()] <= '9';
  };
  return name == kConsole || name == "/dev/console" || is_number(kPseudo) || is_number(kConsole);
}

enum class Use : uint8_t { kAwaited, kOnlyWakes };

struct Descriptor {
  Doing doing = Doing::kUnknown;
  Use use = Use::kAwaited;
  bool is_path = false;
};

Descriptor DescribeDescriptor(const base::Thread& thread, int descriptor) {
  char target[64];
  std::string_view name = LinkOfDescriptor(thread, descriptor, target);
  if (name.empty()) return {};
  if (name.starts_with("socket:[")) {
    name.remove_prefix(std::strlen("socket:["));
    uint64_t inode = 0;
    base::ConsumeDecimal(&name, &inode);
    return {WhatSocketAwaits(thread, inode)};
  }
  if (name.starts_with("pipe:[")) return {Doing::kPipe};
  if (name == "anon_inode:[pidfd]") return {Doing::kProcess};
  if (name == "anon_inode:[timerfd]" || name == "anon_inode:[signalfd]")
    return {Doing::kSleep, Use::kOnlyWakes};
  if (name == "anon_inode:[eventfd]") return {Doing::kLock, Use::kOnlyWakes};  // another thread writes to it
  if (name == "anon_inode:inotify") return {Doing::kNetwork, Use::kOnlyWakes};
  if (IsTerminal(name)) return {Doing::kTerminal};
  if (name.ends_with("/ptmx")) return {Doing::kPipe};  // of the terminal that it shows
  return {Doing::kNetwork, Use::kAwaited, name.starts_with('/') && !name.starts_with("/dev/")};
}

// Of several descriptors that are waited for together.
class Sum {
 public:
  explicit Sum(const base::Thread& thread) : thread_(thread) {}

  void Add(int descriptor) {
    const Descriptor found = DescribeDescriptor(thread_, descriptor);
    if (found.doing == Doing::kUnknown) return;
    if (found.use == Use::kAwaited) return Add(found.doing, descriptor);
    const bool is_alike = wakes_ == Doing::kUnknown || wakes_ == found.doing;
    // Of an event and a timer, the timer is only the longest that it takes.
    const bool is_event = !is_alike && wakes_ != Doing::kNetwork && found.doing != Doing::kNetwork;
    wakes_ = is_alike ? found.doing : is_event ? Doing::kLock : Doing::kNetwork;
  }
  // Of one that is awaited for `doing`; kNoDescriptor for what is none.
  void Add(Doing doing, int descriptor) {
    awaited_ = awaited_ == Doing::kUnknown || awaited_ == doing ? doing : Doing::kNetwork;
    if (descriptor != only_ || awaited_count_ == 0)
      only_ = awaited_count_++ == 0 ? descriptor : kNoDescriptor;
  }
  bool is_empty() const { return awaited_ == Doing::kUnknown && wakes_ == Doing::kUnknown; }
  // Of those awaited, where it is one; else kNoDescriptor.
  int only() const { return only_; }
  Doing doing() const {
    if (awaited_ != Doing::kUnknown) return awaited_;
    return wakes_ != Doing::kUnknown ? wakes_ : Doing::kNetwork;
  }

 private:
  base::Thread thread_;
  size_t awaited_count_ = 0;
  int only_ = kNoDescriptor;
  Doing awaited_ = Doing::kUnknown;
  Doing wakes_ = Doing::kUnknown;
};

}  // namespace

std::optional<uint64_t> NumberInFdInfo(const base::Thread& thread, int descriptor, std::string_view key) {
  char leaf[24];
  std::snprintf(leaf, sizeof leaf, "fdinfo/%d", descriptor);
  char buffer[1024];
  return base::NumberInLine(base::ReadSmallFile(base::TaskPath(thread, leaf).c_str(), buffer, sizeof buffer),
                            key);
}

uint64_t InodeOfDescriptor(const base::Thread& thread, int descriptor, const char* kind) {
  char target[64];
  std::string_view name = LinkOfDescriptor(thread, descriptor, target);
  if (!name.starts_with(kind)) return 0;
  name.remove_prefix(std::strlen(kind));
  if (!name.starts_with(":[")) return 0;
  name.remove_prefix(2);
  uint64_t inode = 0;
  return base::ConsumeDecimal(&name, &inode) ? inode : 0;
}

Doing WhatDescriptorAwaits(const base::Thread& thread, int descriptor, char state) {
  constexpr char kUninterruptible = 'D';
  if (state == kUninterruptible) return Doing::kDisk;
  const Descriptor found = DescribeDescriptor(thread, descriptor);
  if (!found.is_path) return found.doing;
  return IsInPipe(thread) ? Doing::kPipe : Doing::kDisk;  // on a file system in user space
}

std::optional<Doing> WhatSetAwaits(const base::Thread& thread, const stack::BlockedThread& blocked,
                                   int* only) {
  if (only != nullptr) *only = kNoDescriptor;
  const std::optional<WaitSet> set = SetOf(blocked);
  if (!set) return std::nullopt;
  if (set->is_empty()) return Doing::kSleep;
  if (set->is_cut()) return Doing::kNetwork;  // entries that are not read may be awaited, too
  int room[kMostInSet + 1];
  const std::span<const int> descriptors = ReadSet(thread, *set, room);
  if (descriptors.size() > kMostInSet) return Doing::kNetwork;
  Sum sum(thread);
  for (const int descriptor : descriptors) sum.Add(descriptor);
  if (only != nullptr) *only = sum.only();
  return sum.doing();
}

Doing WhatRingAwaits(const base::Thread& thread, int ring, int* only) {
  if (only != nullptr) *only = kNoDescriptor;
  Sum sum(thread);
  RingRequest room[kMostInSet];
  for (const RingRequest& request : ReadPendingRequests(thread, ring, room)) {
    const bool is_known = request.descriptor != kNoDescriptor;
    sum.Add(is_known ? WhatDescriptorAwaits(thread, request.descriptor, 'S') : request.doing,
            request.descriptor);
  }
  if (only != nullptr) *only = sum.only();
  return sum.is_empty() ? Doing::kUnknown : sum.doing();
}

mode_t AccessOfOtherEnd(const base::Thread& thread, int descriptor) {
  char leaf[24];
  std::snprintf(leaf, sizeof leaf, "fd/%d", descriptor);
  struct stat file {};
  if (lstat(base::TaskPath(thread, leaf).c_str(), &file) != 0) return 0;
  const bool is_read = (file.st_mode & S_IRUSR) != 0;
  const bool is_written = (file.st_mode & S_IWUSR) != 0;
  return is_read == is_written ? 0 : is_read ? S_IWUSR : S_IRUSR;
}

int AwaitedDescriptor(const base::Thread& thread, const stack::BlockedThread& blocked) {
  int only = kNoDescriptor;
  if (WhatSetAwaits(thread, blocked, &only)) return only;
  if (blocked.call().awaits == base::CallAwaits::kRing) {
    WhatRingAwaits(thread, static_cast<int>(blocked.arguments[0]), &only);
    return only;
  }
  return blocked.call().IsForDescriptor() ? static_cast<int>(blocked.arguments[0]) : kNoDescriptor;
}

}  // namespace lagwatch::watchdog
