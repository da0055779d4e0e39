// SPDX-License-Identifier: Apache-2.0
#include <sys/klog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <span>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "stack/threads/thread_state.h"
#include "watchdog/facts/kernel_log.h"

namespace lagwatch::watchdog {
namespace {

constexpr size_t kLogBytes = 32 * 1024;  // its end

// The text behind "INFO: task NAME:TID " of that thread; empty in another line. A name may have any letter.
std::string_view TextAbout(std::string_view line, std::string_view thread) {
  constexpr std::string_view kBegin = "INFO: task ";
  constexpr size_t kMostNameBytes = 15;
  const size_t begin = line.find(kBegin);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + kBegin.size());
  const size_t end = line.find(thread);
  return end > kMostNameBytes ? std::string_view() : line.substr(end + thread.size());
}

// In s, of a line "<6>[12345.678901] …"; -1 without one.
int64_t TimeOf(std::string_view line) {
  const size_t begin = line.find('[');
  if (begin == std::string_view::npos || begin > sizeof "<123>") return -1;
  line.remove_prefix(begin + 1);
  uint64_t seconds = 0;
  return base::ConsumeDecimal(&line, &seconds) ? static_cast<int64_t>(seconds) : -1;
}

void Copy(std::string_view text, std::span<char> room) {
  room[text.copy(room.data(), room.size() - 1)] = '\0';
}

// "… likely owned by task NAME:4711 …" without the name.
void CopyBlocker(std::string_view text, std::span<char> room) {
  constexpr std::string_view kOwner = "owned by task ";
  const size_t owner = text.find(kOwner);
  const size_t name = owner == std::string_view::npos ? text.size() : owner + kOwner.size();
  std::string_view rest = text.substr(name);
  for (size_t colon; (colon = rest.find(':')) != std::string_view::npos;) rest.remove_prefix(colon + 1);
  const size_t size = text.substr(0, name).copy(room.data(), room.size() - 1);
  Copy(rest, room.subspan(size));
}

// Ids in the log are those of the machine's own namespace.
bool HasMachinesIds() {
  constexpr std::string_view kFirstNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO
  char link[32];
  const ssize_t size = readlink("/proc/self/ns/pid", link, sizeof link);
  return size > 0 && std::string_view(link, static_cast<size_t>(size)) == kFirstNamespace;
}

}  // namespace

HungTask FindHungTask(std::string_view log, int32_t tid, int64_t now_s) {
  HungTask found;
  char thread[16];
  std::snprintf(thread, sizeof thread, ":%d ", tid);
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    std::string_view text = TextAbout(line, thread);
    if (text.empty()) continue;
    if (text.find("for more than") == std::string_view::npos) {
      CopyBlocker(text, found.blocker);
      continue;
    }
    if (text.ends_with('.')) text.remove_suffix(1);
    const int64_t logged_s = TimeOf(line);
    if (logged_s < 0) {
      Copy(text, found.text);
    } else {
      std::snprintf(found.text, sizeof found.text, "%.*s (%ld s ago)", static_cast<int>(text.size()),
                    text.data(), static_cast<long>(std::max<int64_t>(now_s - logged_s, 0)));
    }
    found.blocker[0] = '\0';  // that of this time follows
  }
  return found;
}

HungTask ReadHungTask(const base::Thread& thread) {
  constexpr int kReadAll = 3;  // SYSLOG_ACTION_READ_ALL
  if (thread.process.is_own() || stack::ReadThreadStateLetter(thread) != 'D' || !HasMachinesIds()) return {};
  char log[kLogBytes];
  const int size = klogctl(kReadAll, log, sizeof log);
  if (size <= 0) return {};
  const int64_t now_s = base::SystemClock().MonoNs() / base::kNsPerSecond;
  return FindHungTask({log, static_cast<size_t>(size)}, thread.tid, now_s);
}

}  // namespace lagwatch::watchdog
