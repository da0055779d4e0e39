// SPDX-License-Identifier: Apache-2.0
// Mounted file systems, by the lines of a /proc/PID/mountinfo alone: no file is looked at, not even its
// folder, since what is asked for may be what a thread waits for. Context: watchdog.
#pragma once

#include <cstdint>
#include <string_view>

namespace lagwatch::watchdog {

struct Mount {
  uint64_t major = 0;  // of its device; 0: one without a block device
  uint64_t minor = 0;
  bool is_remote = false;  // its files are another machine's or another process's
  char point[112] = {};
  char type[32] = {};     // as in "nfs4", "fuse.sshfs"
  char source[112] = {};  // as in "/dev/sda1", "server:/export"; cut

  bool is_fuse() const;
};

// Each leaves `mount` as it is where it returns false.
// By the mount's id.
bool FindMountById(const char* mountinfo, uint64_t id, Mount* mount);
// By an absolute path that a thread waits for in the kernel's function `channel`. False if it is not certain
// which file system the path leads to: links are not looked at.
bool FindMountByPath(const char* mountinfo, std::string_view path, std::string_view channel, Mount* mount);

}  // namespace lagwatch::watchdog
