// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/unwatched_notes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "base/process/env.h"
#include "report/spool/spool_directory.h"

namespace lagwatch::sdk {
namespace {

constexpr off_t kMaxFileBytes = 64 << 10;
constexpr size_t kMaxTextBytes = 512;

std::string OnOneLine(std::string text) {
  text.resize(std::min(text.size(), kMaxTextBytes));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

std::string PathIn(const std::string& spool_directory) { return spool_directory + "/" + kUnwatchedFileName; }

// "WALL_MS PID APP\tWHY": only the last text may hold anything.
bool TryParse(const std::string& line, UnwatchedNote* note) {
  const size_t tab = line.find('\t');
  int numbers_end = 0;
  if (tab == std::string::npos ||
      std::sscanf(line.c_str(), "%" SCNd64 " %" SCNu32 "%n", &note->wall_ms, &note->pid, &numbers_end) != 2)
    return false;
  const size_t app_at = static_cast<size_t>(numbers_end) + 1;  // after a space
  if (app_at > tab) return false;
  note->app = line.substr(app_at, tab - app_at);
  note->why = line.substr(tab + 1);
  return true;
}

}  // namespace

void AddUnwatchedNote(const std::string& spool_directory, const UnwatchedNote& note) {
  base::Env& env = base::SystemEnv();
  if (env.CreateDirectories(spool_directory) != 0 || !report::CheckSpoolDirectory(&env, spool_directory).ok())
    return;
  const int fd = open(PathIn(spool_directory).c_str(),
                      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd < 0) return;
  struct stat status {};
  const bool is_file = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const bool has_room = status.st_size < kMaxFileBytes || ftruncate(fd, 0) == 0;
  const std::string line = std::to_string(note.wall_ms) + " " + std::to_string(note.pid) + " " +
                           OnOneLine(note.app) + "\t" + OnOneLine(note.why) + "\n";
  // One call, so that the lines of several processes do not mix. A failure has no remedy.
  if (is_file && has_room) [[maybe_unused]]
    const ssize_t written = write(fd, line.data(), line.size());
  close(fd);
}

void RemoveUnwatchedNote(const std::string& spool_directory, uint32_t pid) {
  std::string content;
  if (base::SystemEnv().ReadAll(PathIn(spool_directory), &content) != 0 || content.size() < 2) return;
  const size_t line_at = content.rfind('\n', content.size() - 2) + 1;  // 0 when there is one line only
  UnwatchedNote note;
  const std::string line = content.substr(line_at, content.size() - 1 - line_at);
  if (!TryParse(line, &note) || note.pid != pid) return;
  [[maybe_unused]] const int result =
      truncate(PathIn(spool_directory).c_str(), static_cast<off_t>(line_at));  // else the note stays
}

std::vector<UnwatchedNote> ReadUnwatchedNotes(const std::string& spool_directory, int64_t from_wall_ms) {
  std::vector<UnwatchedNote> notes;
  std::string content;
  if (base::SystemEnv().ReadAll(PathIn(spool_directory), &content) != 0) return notes;
  for (size_t at = 0; at < content.size();) {
    const size_t end = std::min(content.find('\n', at), content.size());
    UnwatchedNote note;
    if (TryParse(content.substr(at, end - at), &note) && note.wall_ms >= from_wall_ms)
      notes.push_back(std::move(note));
    at = end + 1;
  }
  return notes;
}

}  // namespace lagwatch::sdk
