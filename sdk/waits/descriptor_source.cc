// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <iterator>
#include <string_view>

#include "sdk/waits/wait_home.h"

namespace lagwatch::sdk {
namespace {

class DescriptorPath {
 public:
  DescriptorPath(const base::Process& process, int descriptor) {
    const base::ProcessPath folder(process, "fd/");
    const size_t size = std::strlen(folder.c_str());
    std::memcpy(text_, folder.c_str(), size);
    *std::to_chars(text_ + size, std::end(text_) - 1, descriptor).ptr = '\0';
  }
  const char* c_str() const { return text_; }

 private:
  char text_[80];
};

}  // namespace

bool IsOpenDescriptor(const base::Process& process, int descriptor) {
  const int saved_errno = errno;
  char target[1];
  const bool is_open =
      process.is_own() ? fcntl(descriptor, F_GETFD) >= 0
                       : readlink(DescriptorPath(process, descriptor).c_str(), target, sizeof target) >= 0;
  errno = saved_errno;
  return is_open;
}

DescriptorSource SourceOf(const base::Process& process, int descriptor) {
  char target[32];
  const int saved_errno = errno;
  const ssize_t length = readlink(DescriptorPath(process, descriptor).c_str(), target, sizeof target);
  errno = saved_errno;
  const std::string_view text(target, length < 0 ? 0 : static_cast<size_t>(length));
  if (text == "anon_inode:[eventfd]") return DescriptorSource::kEvent;
  const bool is_user =
      descriptor == STDIN_FILENO || text.starts_with("/dev/pts/") || text.starts_with("/dev/tty");
  if (is_user) return DescriptorSource::kUser;
  if (text == "anon_inode:[timerfd]" || text == "anon_inode:[signalfd]" || text == "anon_inode:inotify")
    return DescriptorSource::kTimer;
  const bool is_stream = text.starts_with("pipe:") || text.starts_with("socket:");
  return is_stream ? DescriptorSource::kStream : DescriptorSource::kAny;
}

}  // namespace lagwatch::sdk
