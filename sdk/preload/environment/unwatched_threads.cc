// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/unwatched_threads.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/process/own_threads.h"
#include "base/process/proc_file.h"
#include "base/process/process.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::sdk {
namespace {

constexpr size_t kMostNames = 4;

struct NamedThreads {
  std::string name;
  size_t count = 0;
};

std::string Why(std::string_view wanted, bool is_main_watched) {
  if (wanted == "auto" && is_main_watched) return "the main thread has one; --threads all watches each";
  if (wanted == "auto") return "they did not poll again and again; --threads all watches other waits, too";
  if (wanted == "all") return "they came back to no wait again and again";
  return "--threads " + std::string(wanted) + " leaves them out";
}

}  // namespace

std::string DescribeUnwatchedThreads(const std::string& wanted_threads, std::span<const int32_t> watched) {
  std::vector<NamedThreads> found;
  size_t count = 0;
  const auto is_watched = [&](int32_t tid) { return std::ranges::count(watched, tid) != 0; };
  const base::Process process = base::Process::Own();
  base::ForEachThread(process, [&](int tid) {
    if (is_watched(tid) || tid == getpid() || base::OwnerOfThread(tid) != base::ThreadOwner::kProgram)
      return true;
    char name[32] = {};
    stack::ReadThreadName({process, tid}, name, sizeof name);
    const auto same = std::ranges::find(found, std::string_view(name), &NamedThreads::name);
    if (same == found.end()) {
      found.push_back({name, 1});
    } else {
      ++same->count;
    }
    ++count;
    return true;
  });
  if (count == 0) return {};
  std::ranges::stable_sort(found, std::ranges::greater(), &NamedThreads::count);
  std::string text =
      std::to_string(count) + (count == 1 ? " other thread had no loop: " : " other threads had no loop: ");
  size_t named = 0;
  for (size_t i = 0; i < std::min(found.size(), kMostNames); ++i) {
    text += (i == 0 ? "" : ", ") + found[i].name;
    if (found[i].count > 1) text += " (" + std::to_string(found[i].count) + ")";
    named += found[i].count;
  }
  if (named < count) text += " and " + std::to_string(count - named) + " more";
  return text + "; " + Why(wanted_threads, is_watched(getpid()));
}

}  // namespace lagwatch::sdk
