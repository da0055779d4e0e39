// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <iterator>
#include <string>

#include "base/owned_fd.h"
#include "sdk/outside/return_tracepoint.h"

namespace lagwatch::sdk {
namespace {

struct Wait {
  uint64_t number;
  const char* name;
};

constexpr Wait kWaits[] = {
#ifdef SYS_epoll_wait
    {SYS_epoll_wait, "epoll_wait"},
#endif
    {SYS_epoll_pwait, "epoll_pwait"},
    {SYS_epoll_pwait2, "epoll_pwait2"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
#endif
    {SYS_ppoll, "ppoll"},
#ifdef SYS_select
    {SYS_select, "select"},
#endif
    {SYS_pselect6, "pselect6"},
};

// The root of tracefs: as it is mounted, or mounted for this process alone, in no folder.
base::OwnedFd OpenTracefs() {
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    base::OwnedFd root(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (root && faccessat(root.get(), "events", F_OK, 0) == 0) return root;
  }
  // By number: the C library has these calls since 2.36.
  const auto call = [](auto... arguments) { return static_cast<int>(syscall(arguments...)); };
  const base::OwnedFd context(call(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC));
  if (!context || call(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  return base::OwnedFd(call(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY));
}

constexpr int64_t kUnread = 0;
constexpr int64_t kNone = -1;

int64_t ReadNumber(const char* name) {
  const base::OwnedFd root = OpenTracefs();
  if (!root) return kNone;
  const std::string path = std::string("events/syscalls/sys_exit_") + name + "/id";
  const base::OwnedFd file(openat(root.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[32];
  const ssize_t size = file ? read(file.get(), text, sizeof text) : -1;
  int64_t number = kNone;
  if (size > 0) static_cast<void>(std::from_chars(text, text + size, number));
  return number;
}

}  // namespace

std::optional<uint64_t> ReturnTracepointOf(uint64_t syscall_number) {
  static std::atomic<int64_t> numbers[std::size(kWaits)];  // two threads may read the same one
  for (size_t i = 0; i < std::size(kWaits); ++i) {
    if (kWaits[i].number != syscall_number) continue;
    int64_t number = numbers[i].load();
    if (number == kUnread) numbers[i].store(number = ReadNumber(kWaits[i].name));
    if (number != kNone) return static_cast<uint64_t>(number);
  }
  return std::nullopt;
}

}  // namespace lagwatch::sdk
