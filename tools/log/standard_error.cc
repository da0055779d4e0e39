// SPDX-License-Identifier: Apache-2.0
#include "tools/log/standard_error.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "base/clock.h"

namespace lagwatch::tools {

base::Status WriteToStandardError(const std::string& text) {
  constexpr int64_t kPatienceMs = 5000;
  const auto now_ms = [] { return base::SystemClock().MonoNs() / base::kNsPerMs; };
  const int64_t end_ms = now_ms() + kPatienceMs;
  for (std::string_view left = text; !left.empty();) {
    // A write of so little does not block after this, also where the descriptor may block.
    pollfd wait{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(end_ms - now_ms(), 0)));
    if (ready == 0) return {base::StatusCode::kUnavailable, "the reader of stderr is too slow"};
    const ssize_t size = write(STDERR_FILENO, left.data(), std::min<size_t>(left.size(), PIPE_BUF));
    if (size >= 0) {
      left.remove_prefix(static_cast<size_t>(size));
    } else if (errno == EPIPE || errno == EBADF || errno == EIO || errno == ECONNRESET) {
      return base::IoError("stderr cannot be written to", errno);
    } else if (errno != EINTR && errno != EAGAIN) {
      return {base::StatusCode::kUnavailable,
              std::string("stderr cannot be written to: ") + std::strerror(errno)};
    }
  }
  return {};
}

bool IsStandardErrorPipe() {
  struct stat file {};
  return fstat(STDERR_FILENO, &file) == 0 && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode));
}

void CloseStandardError() {
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  dup2(null, STDERR_FILENO);
  close(null);
}

}  // namespace lagwatch::tools
