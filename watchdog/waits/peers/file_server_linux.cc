// SPDX-License-Identifier: Apache-2.0
// Waits for file systems, and those of them in user space: FUSE.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "watchdog/waits/peers/peer_target.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kMostPathBytes = 512;

// The path at `address` in the process, absolute; empty where there is none. A relative one begins at
// descriptor `folder`.
std::string_view ReadPath(const base::Thread& thread, uint64_t address, int folder, std::span<char> room) {
  char path[kMostPathBytes / 2];
  const size_t size = thread.process.Read(address, path, sizeof path);
  const std::string_view text(path, size);
  const std::string_view given = text.substr(0, text.find('\0'));
  if (given.empty() || given.size() == size) return {};
  std::string_view base;
  if (given[0] != '/') {
    char leaf[24];
    std::snprintf(leaf, sizeof leaf, folder == AT_FDCWD ? "cwd" : "fd/%d", folder);
    const ssize_t base_size = readlink(base::TaskPath(thread, leaf).c_str(), room.data(), room.size() / 2);
    if (base_size <= 0 || room[0] != '/') return {};
    base = {room.data(), static_cast<size_t>(base_size)};
  }
  size_t end = base.size();
  if (end != 0) room[end++] = '/';
  end += given.copy(room.data() + end, room.size() - end);
  return {room.data(), end};
}

bool IsEmptyText(const base::Process& process, uint64_t address) {
  char first = 'x';
  return address == 0 || (process.ReadValue(address, &first) && first == '\0');
}

// The descriptor that the call waits for, of a file, maybe by a ring.
std::optional<int> FileOfCall(const base::Thread& thread, const stack::BlockedThread& blocked) {
  const base::SystemCall& call = blocked.call();
  const auto first = static_cast<int>(blocked.arguments[0]);
  if (call.awaits == base::CallAwaits::kRing) {
    const int only = AwaitedDescriptor(thread, blocked);
    return only == kNoDescriptor ? std::nullopt : std::optional(only);
  }
  const bool is_file = call.NamesFile() == base::FileArgument::kDescriptor ||
                       (call.NamesFile() == base::FileArgument::kPathAt && first >= 0 &&
                        IsEmptyText(thread.process, blocked.arguments[1]));
  return is_file ? std::optional(first) : std::nullopt;
}

}  // namespace

bool FindMountOfCall(const base::Thread& thread, const stack::BlockedThread& blocked,
                     std::string_view channel, Mount* mount) {
  const base::TaskPath mountinfo(thread, "mountinfo");
  if (const std::optional<int> file = FileOfCall(thread, blocked)) {
    char link[64];
    if (!LinkOfDescriptor(thread, *file, link).starts_with('/')) return false;
    const auto id = NumberInFdInfo(thread, *file, "mnt_id:");
    return id && FindMountById(mountinfo.c_str(), *id, mount);
  }
  const base::FileArgument argument = blocked.call().NamesFile();
  if (argument != base::FileArgument::kPath && argument != base::FileArgument::kPathAt) return false;
  const bool is_at = argument == base::FileArgument::kPathAt;
  char room[kMostPathBytes];
  const std::string_view path = ReadPath(thread, blocked.arguments[is_at ? 1 : 0],
                                         is_at ? static_cast<int>(blocked.arguments[0]) : AT_FDCWD, room);
  return !path.empty() && FindMountByPath(mountinfo.c_str(), path, channel, mount);
}

bool FindFileServer(const base::Thread& thread, const stack::BlockedThread& blocked, PeerTarget* target,
                    std::span<char> mount_point) {
  char channel[64];
  stack::ReadWaitChannel(thread, channel, sizeof channel);
  const std::string_view name(channel);
  if (name.find("fuse") == std::string_view::npos &&
      name.find("request_wait_answer") == std::string_view::npos)
    return false;
  Mount mount;
  if (!FindMountOfCall(thread, blocked, name, &mount) || !mount.is_fuse()) return false;
  const std::string_view point(mount.point);
  mount_point[point.copy(mount_point.data(), mount_point.size() - 1)] = '\0';
  *target = {};
  target->kind = policies::LockKind::kFileSystem;
  target->number = mount.minor;  // of the connection, too
  std::snprintf(target->link, sizeof target->link, "/dev/fuse");
  std::snprintf(target->info, sizeof target->info, "fuse_connection:\t%lu\n",
                static_cast<unsigned long>(mount.minor));
  return true;
}

}  // namespace lagwatch::watchdog
