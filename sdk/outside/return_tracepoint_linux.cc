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
#include "base/system/system_calls.h"
#include "sdk/outside/return_tracepoint.h"

namespace lagwatch::sdk {
namespace {

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
  using base::system_call_rows::kAll;
  static std::atomic<int64_t> numbers[std::size(kAll)];  // two threads may read the same one
  const base::SystemCall& call = base::SystemCallOf(static_cast<int64_t>(syscall_number));
  if (call.set == base::DescriptorSet::kNoSet) return std::nullopt;
  std::atomic<int64_t>& kept = numbers[&call - kAll];
  int64_t number = kept.load();
  if (number == kUnread) kept.store(number = ReadNumber(call.name));
  return number == kNone ? std::nullopt : std::optional(static_cast<uint64_t>(number));
}

}  // namespace lagwatch::sdk
