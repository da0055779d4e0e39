// SPDX-License-Identifier: Apache-2.0
#include "collector/admin/audit_log.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/process/env.h"

namespace lagwatch::collector {
namespace {

// A line that was cut off by a crash gets an end before the next.
int AppendLine(const std::string& path, std::string line) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  char last = '\n';
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n') line.insert(0, 1, '\n');
  const bool is_written = write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  const int error = is_written && fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error;
}

// Far more than the entries of the few changes that can be made at once.
constexpr off_t kReservedBytes = 256 << 10;

// File systems that cannot set blocks aside (EOPNOTSUPP) at least have to let the file be opened for writing.
int ReserveAtEnd(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  const off_t size = lseek(fd, 0, SEEK_END);
  int error = size < 0 ? errno : 0;
  if (error == 0 && fallocate(fd, FALLOC_FL_KEEP_SIZE, size, kReservedBytes) != 0) error = errno;
  close(fd);
  return error == EOPNOTSUPP ? 0 : error;
}

}  // namespace

base::Status AuditLog::Reserve() {
  std::lock_guard lock(mutex_);
  const int error = ReserveAtEnd(path_);
  if (error == 0) return {};
  return {base::StatusCode::kUnavailable,
          base::IoError("nothing was changed, because the audit log cannot be written: " + path_, error)
              .message()};
}

void AuditLog::Add(std::string_view by, std::string_view action, std::string_view subject,
                   const Json& details) {
  const std::string line = JsonText({{"wall_ms", base::SystemClock().WallMs()},
                                     {"by", by},
                                     {"action", action},
                                     {"subject", subject},
                                     {"details", details}});
  std::lock_guard lock(mutex_);
  const int error = AppendLine(path_, line + "\n");
  spdlog::info("{} {} by '{}'", action, subject, by);
  if (error != 0) spdlog::error("{}: {}", base::IoError("cannot write " + path_, error).message(), line);
}

base::Result<Json> AuditLog::Newest(int64_t limit) const {
  std::string text;
  {
    std::lock_guard lock(mutex_);
    const int error = base::SystemEnv().ReadAll(path_, &text);
    if (error != 0 && error != ENOENT) return base::IoError("cannot read " + path_, error);
  }
  Json entries = Json::array();
  std::string_view rest = text;
  while (!rest.empty() && static_cast<int64_t>(entries.size()) < limit) {
    rest.remove_suffix(rest.back() == '\n' ? 1 : 0);
    const size_t begin = rest.rfind('\n') + 1;  // 0 without one
    Json entry = Json::parse(rest.substr(begin), nullptr, /*allow_exceptions=*/false);
    if (entry.is_object()) entries.push_back(std::move(entry));
    rest = rest.substr(0, begin);
  }
  return entries;
}

}  // namespace lagwatch::collector
