// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/process/proc_file.h"
#include "watchdog/waits/file_locks.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

// "1: POSIX  ADVISORY  WRITE 4711 08:01:5678 0 EOF", with "->" after the number where it is a wait.
struct Line {
  uint64_t number;
  bool is_wait;
  std::string_view kind;
  int32_t pid;  // -1 for locks of open files
  uint64_t inode;
};

std::string_view TakeWord(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(' '), text->size()));
  const std::string_view word = text->substr(0, text->find(' '));
  text->remove_prefix(word.size());
  return word;
}

bool ParseLine(std::string_view text, Line* line) {
  if (!base::ConsumeDecimal(&text, &line->number) || !text.starts_with(':')) return false;
  text.remove_prefix(1);
  std::string_view word = TakeWord(&text);
  line->is_wait = word == "->";
  if (line->is_wait) word = TakeWord(&text);
  line->kind = word;
  TakeWord(&text);  // whether it is advisory
  TakeWord(&text);  // for reading or writing
  std::string_view pid = TakeWord(&text);
  uint64_t number = 0;
  line->pid = base::ConsumeDecimal(&pid, &number) ? static_cast<int32_t>(number) : -1;
  std::string_view file = TakeWord(&text);
  file.remove_prefix(std::min(file.rfind(':'), file.size() - 1) + 1);
  return base::ConsumeDecimal(&file, &line->inode);
}

template <typename Visit>
void ForEachLine(std::string_view text, Visit visit) {
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    Line line;
    if (ParseLine(text.substr(0, end), &line)) visit(line);
    text.remove_prefix(end + 1);
  }
}

}  // namespace

bool IsFileLockCommand(uint64_t command) { return command == F_SETLKW || command == F_OFD_SETLKW; }

FileLock FindAwaitedLock(std::string_view locks, int32_t pid, uint64_t inode) {
  FileLock found;
  uint64_t number = 0;
  ForEachLine(locks, [&](const Line& line) {
    const bool is_file = inode == 0 || line.inode == inode;
    const bool is_ours = line.pid == pid || (line.pid < 0 && inode != 0);
    if (!line.is_wait || !is_file || !is_ours || found.kind[0] != '\0') return;
    number = line.number;
    std::memcpy(found.kind, line.kind.data(), std::min(line.kind.size(), sizeof found.kind - 1));
  });
  if (found.kind[0] == '\0') return found;
  ForEachLine(locks, [&](const Line& line) {
    if (line.is_wait || line.number != number) return;
    ++found.holder_count;
    if (found.holder_pid == 0) found.holder_pid = std::max(line.pid, 0);
  });
  return found;
}

FileLock ReadAwaitedLock(const base::Thread& thread, int descriptor) {
  char buffer[32 * 1024];
  const std::string_view locks = base::ReadSmallFile("/proc/locks", buffer, sizeof buffer);
  // Not before Linux 5.14.
  const uint64_t inode = NumberInFdInfo(thread, descriptor, "ino:").value_or(0);
  return FindAwaitedLock(locks, thread.process.proc_id(), inode);
}

}  // namespace lagwatch::watchdog
