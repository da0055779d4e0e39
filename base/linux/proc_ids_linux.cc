// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/proc_ids.h"
#include "base/system/thread.h"

namespace lagwatch::base {
namespace {

// Relaxed throughout: each word is whole in itself, and an id that is found is verified.
constinit std::atomic<bool> g_differ{false};
// The place of this process's own ids among those of a thread, of which each namespace has one (NSpid,
// outermost first); 0: not read yet.
constinit std::atomic<uint32_t> g_level{0};
// The ids in /proc (low half) of threads, in the place of their own id's remainder.
constinit std::array<std::atomic<uint64_t>, 256> g_found{};

struct Ids {
  int32_t at_level = 0;  // 0: there is none
  uint32_t count = 0;
};

Ids ReadIds(const char* status_path, uint32_t level) {
  constexpr std::string_view kKey = "\nNSpid:";
  char buffer[2048];  // the line is among the first
  std::string_view text = ReadSmallFile(status_path, buffer, sizeof buffer);
  Ids ids;
  const size_t at = text.find(kKey);
  if (at == std::string_view::npos) return ids;
  text.remove_prefix(at + kKey.size());
  text = text.substr(0, text.find('\n'));
  while (text.starts_with('\t')) {
    text.remove_prefix(1);
    uint64_t id = 0;
    if (!ConsumeDecimal(&text, &id)) break;
    if (++ids.count == level) ids.at_level = static_cast<int32_t>(id);
  }
  return ids;
}

uint32_t OwnLevel() {
  uint32_t level = g_level.load(std::memory_order_relaxed);
  if (level != 0) return level;
  level = ReadIds("/proc/thread-self/status", 0).count;
  g_level.store(level, std::memory_order_relaxed);
  return level;
}

int32_t ReadThread(int32_t proc_id) {
  char path[48];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/status", proc_id);
  const uint32_t level = OwnLevel();
  return level == 0 ? 0 : ReadIds(path, level).at_level;
}

std::atomic<uint64_t>& PlaceOf(int32_t tid) { return g_found[static_cast<uint32_t>(tid) % g_found.size()]; }

void Keep(int32_t tid, int32_t proc_id) {
  PlaceOf(tid).store(static_cast<uint64_t>(tid) << 32 | static_cast<uint32_t>(proc_id),
                     std::memory_order_relaxed);
}

}  // namespace

void MatchProcIds() {
  char link[64];
  const ssize_t size = readlink("/proc/thread-self", link, sizeof link);  // "7/task/8"
  std::string_view text(link, static_cast<size_t>(size < 0 ? 0 : size));
  text.remove_prefix(text.rfind('/') + 1);
  uint64_t id = 0;
  const bool is_known = ConsumeDecimal(&text, &id);
  const bool differ = is_known && static_cast<int32_t>(id) != CurrentThreadId();
  g_level.store(0, std::memory_order_relaxed);
  if (differ || g_differ.load(std::memory_order_relaxed)) {
    for (std::atomic<uint64_t>& found : g_found) found.store(0, std::memory_order_relaxed);
  }
  g_differ.store(differ, std::memory_order_relaxed);
}

bool HasForeignProcIds() { return g_differ.load(std::memory_order_relaxed); }

int32_t ProcIdOfThread(int32_t tid) {
  if (!HasForeignProcIds()) return tid;
  const uint64_t known = PlaceOf(tid).load(std::memory_order_relaxed);
  const auto known_id = static_cast<int32_t>(known & 0xffff'ffff);
  // A new thread may have the id of one that has ended.
  if (static_cast<int32_t>(known >> 32) == tid && ReadThread(known_id) == tid) return known_id;
  int32_t found = 0;
  ForEachNumberIn("/proc/self/task", [&](int proc_id) {
    if (ReadThread(proc_id) == tid) found = proc_id;
    return found == 0;
  });
  if (found != 0) Keep(tid, found);
  return found;
}

int32_t ThreadOfProcId(int32_t proc_id) {
  if (!HasForeignProcIds()) return proc_id;
  const int32_t tid = ReadThread(proc_id);
  if (tid != 0) Keep(tid, proc_id);
  return tid;
}

int32_t ProcIdOfChild(int32_t pid) {
  if (!HasForeignProcIds()) return pid;
  int32_t found = 0;
  ForEachNumberIn("/proc/self/task", [&](int proc_id) {
    char path[48];
    char buffer[4096];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/children", proc_id);
    std::string_view children = ReadSmallFile(path, buffer, sizeof buffer);
    for (uint64_t child = 0; found == 0 && ConsumeDecimal(&children, &child);) {
      std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(child));
      if (ReadIds(path, OwnLevel()).at_level == pid) found = static_cast<int32_t>(child);
    }
    return found == 0;
  });
  return found;
}

}  // namespace lagwatch::base
