// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "stack/threads/thread_state.h"
#include "watchdog/waits/process_search.h"

namespace lagwatch::watchdog {
namespace {

template <typename Visit>
void ForEachChildOf(const base::Thread& thread, Visit visit) {
  char buffer[4096];
  std::string_view text =
      base::ReadSmallFile(base::TaskPath(thread, "children").c_str(), buffer, sizeof buffer);
  for (uint64_t pid = 0; base::ConsumeDecimal(&text, &pid);) visit(static_cast<int32_t>(pid));
}

uint32_t ReadChildrenOf(const base::Thread& thread, int32_t* last_pid) {
  uint32_t count = 0;
  ForEachChildOf(thread, [&](int32_t pid) {
    *last_pid = pid;
    ++count;
  });
  return count;
}

}  // namespace

int64_t SearchClockNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * base::kNsPerSecond + time.tv_nsec;
}

void ReadProcessName(int32_t pid, char* name, size_t size_bytes) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/comm", pid);
  const std::string_view text = base::ReadSmallFile(path, name, size_bytes - 1);
  name[std::min(text.find('\n'), text.size())] = '\0';
}

bool IsLagwatchsThread(const base::Thread& thread) {
  char name[16];
  stack::ReadThreadName(thread, name, sizeof name);
  return std::string_view(name).starts_with("lagwatch");
}

uint32_t FindChildren(const base::Thread& thread, int64_t budget_ns, int32_t* last_pid) {
  uint32_t count = ReadChildrenOf(thread, last_pid);
  if (count != 0) return count;
  const int64_t deadline_ns = SearchClockNs() + budget_ns;
  base::ForEachThread(thread.process, [&](int other) {
    count += ReadChildrenOf({thread.process, other}, last_pid);
    return SearchClockNs() < deadline_ns;
  });
  return count;
}

std::span<const int32_t> ListChildren(const base::Process& process, std::span<int32_t> room) {
  size_t count = 0;
  base::ForEachThread(process, [&](int tid) {
    ForEachChildOf({process, tid}, [&](int32_t pid) {
      if (count < room.size()) room[count++] = pid;
    });
    return count < room.size();
  });
  return room.first(count);
}

}  // namespace lagwatch::watchdog
