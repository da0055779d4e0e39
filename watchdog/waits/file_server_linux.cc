// SPDX-License-Identifier: Apache-2.0
// Waits for file systems in user space: FUSE. The file system itself is not asked, since that would wait,
// too.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/process/proc_file.h"
#include "watchdog/waits/peer_target.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kMostPathBytes = 512;

// A line of /proc/PID/mountinfo, as far as it is looked at: proc(5).
struct MountLine {
  uint64_t id = 0;
  uint64_t minor = 0;
  std::string_view mount_point;
  bool is_fuse = false;
};

std::string_view TakeField(std::string_view* line) {
  const std::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(std::min(word.size() + 1, line->size()));
  return word;
}

MountLine ParseMount(std::string_view line) {
  MountLine mount;
  const size_t type_at = line.find(" - fuse");
  const std::string_view type = line.substr(std::min(type_at, line.size()));
  mount.is_fuse =
      type.starts_with(" - fuse ") || type.starts_with(" - fuse.") || type.starts_with(" - fuseblk ");
  std::string_view word = TakeField(&line);
  base::ConsumeDecimal(&word, &mount.id);
  TakeField(&line);  // the parent
  std::string_view device = TakeField(&line);
  device.remove_prefix(std::min(device.find(':') + 1, device.size()));
  base::ConsumeDecimal(&device, &mount.minor);
  TakeField(&line);  // the root
  mount.mount_point = TakeField(&line);
  return mount;
}

bool IsBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (folder == "/" || path.size() == folder.size() || path[folder.size()] == '/');
}

// The minor device number of the FUSE mount with that id or, without one, of the innermost mount around
// `path`; 0 where that is of another kind.
uint64_t FindMount(const base::Thread& thread, uint64_t id, std::string_view path,
                   std::span<char> mount_point) {
  char lines[16 * 1024];
  uint64_t minor = 0;
  size_t longest = 0;
  base::ForEachLine(base::TaskPath(thread, "mountinfo").c_str(), lines, [&](std::string_view line) {
    const MountLine mount = ParseMount(line);
    const bool is_it =
        id != 0 ? mount.id == id : IsBelow(path, mount.mount_point) && mount.mount_point.size() >= longest;
    if (!is_it) return true;
    longest = mount.mount_point.size();
    minor = mount.is_fuse ? mount.minor : 0;
    const size_t size = mount.mount_point.copy(mount_point.data(), mount_point.size() - 1);
    mount_point[size] = '\0';
    return id == 0;
  });
  return minor;
}

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

// Of a call on a descriptor or on a path, which is the first or, behind a folder's descriptor, the second
// argument.
uint64_t FindMountOfCall(const base::Thread& thread, const stack::BlockedThread& blocked,
                         std::span<char> mount_point) {
  const uint64_t* arguments = blocked.arguments;
  const auto first = static_cast<int>(arguments[0]);
  char room[kMostPathBytes];
  const bool is_descriptor = arguments[0] < 1 << 20 || first == AT_FDCWD;
  if (!is_descriptor) {
    const std::string_view path = ReadPath(thread, arguments[0], AT_FDCWD, room);
    return path.empty() ? 0 : FindMount(thread, 0, path, mount_point);
  }
  const auto id = NumberInFdInfo(thread, first, "mnt_id:");
  const uint64_t minor = id ? FindMount(thread, *id, {}, mount_point) : 0;
  if (minor != 0) return minor;
  const std::string_view path = ReadPath(thread, arguments[1], first, room);
  return path.empty() ? 0 : FindMount(thread, 0, path, mount_point);
}

}  // namespace

bool FindFileServer(const base::Thread& thread, const stack::BlockedThread& blocked, PeerTarget* target,
                    std::span<char> mount_point) {
  char channel[64];
  stack::ReadWaitChannel(thread, channel, sizeof channel);
  const std::string_view name(channel);
  if (name.find("fuse") == std::string_view::npos &&
      name.find("request_wait_answer") == std::string_view::npos)
    return false;
  const uint64_t connection = FindMountOfCall(thread, blocked, mount_point);
  if (connection == 0) return false;
  *target = {};
  target->kind = policies::LockKind::kFileSystem;
  target->number = connection;
  std::snprintf(target->link, sizeof target->link, "/dev/fuse");
  std::snprintf(target->info, sizeof target->info, "fuse_connection:\t%lu\n",
                static_cast<unsigned long>(connection));
  return true;
}

}  // namespace lagwatch::watchdog
