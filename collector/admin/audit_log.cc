// SPDX-License-Identifier: Apache-2.0
#include "collector/admin/audit_log.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/process/env.h"
#include "base/text.h"
#include "collector/files/small_files.h"
#include "collector/keys/key_record.h"

namespace lagwatch::collector {
namespace {

// Opens the file and locks it against other processes: the file that has the path once it is locked.
// Negative: errno.
int OpenLocked(const std::string& path) {
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) return -errno;
    struct stat opened {};
    struct stat present {};
    if (flock(fd, LOCK_EX) != 0 || fstat(fd, &opened) != 0) {
      const int error = errno;
      close(fd);
      return -error;
    }
    if (stat(path.c_str(), &present) == 0 && present.st_ino == opened.st_ino) return fd;
    close(fd);  // another process has replaced it
  }
}

// A line that was cut off by a crash gets an end before the next.
int AppendLine(const std::string& path, std::string line) {
  const int fd = OpenLocked(path);
  if (fd < 0) return -fd;
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

// The entry without the user's name; empty if it does not have it.
std::string WithoutUser(std::string_view line, std::string_view user) {
  Json entry = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!entry.is_object() || entry.value("subject", Json()) != Json(user)) return "";
  if (!std::string_view(entry.value("action", "")).starts_with("allowlist.")) return "";
  entry["subject"] = SubjectDigest(user);
  return JsonText(entry);
}

}  // namespace

std::string SubjectDigest(std::string_view subject) {
  const KeyDigest digest = DigestOf(subject);
  return "sha256:" + base::ToHex(std::span(digest).first(16));
}

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

base::Status AuditLog::EraseUser(std::string_view user) {
  std::lock_guard lock(mutex_);
  if (!base::SystemEnv().Exists(path_.c_str())) return {};
  const int fd = OpenLocked(path_);
  if (fd < 0) return base::IoError("cannot read " + path_, -fd);
  std::string text;
  std::string erased;
  bool has_user = false;
  const int error = base::SystemEnv().ReadAll(path_, &text);
  for (std::string_view rest = text; !rest.empty();) {
    const size_t size = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string changed = WithoutUser(rest.substr(0, size), user);
    has_user |= !changed.empty();
    erased += changed.empty() ? std::string(rest.substr(0, size)) : changed + "\n";
    rest.remove_prefix(size);
  }
  base::Status done = error == 0 ? base::Status() : base::IoError("cannot read " + path_, error);
  if (done.ok() && has_user) done = ReplaceFile(path_, erased);
  close(fd);
  return done;
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
