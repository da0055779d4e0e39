// SPDX-License-Identifier: Apache-2.0
// Small files of /proc, read and parsed without allocation, stdio or locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lagwatch::base {

// Builds a path like "/proc/self/task/123/comm" in place, for a thread of the watched process. Context:
// watchdog.
class TaskPath {
 public:
  TaskPath(int tid, const char* leaf);
  const char* c_str() const { return text_; }

 private:
  char text_[64];
};

// The file's first `size_bytes` bytes; an empty view when it cannot be opened. Context: watchdog.
std::string_view ReadSmallFile(const char* path, char* buffer, size_t size_bytes);

// Calls `visit(number)` for each entry of the folder that is a number, until it returns false. Context:
// watchdog.
template <typename Visit>
void ForEachNumberIn(const char* folder, Visit visit);
// Calls `visit(tid)` for every thread of the watched process until it returns false. Context: watchdog.
template <typename Visit>
void ForEachThread(Visit visit);

// Takes a number off the front of `text` (leading blanks skipped); false when there is
// none. Context: watchdog.
bool ConsumeHex(std::string_view* text, uint64_t* value);
bool ConsumeDecimal(std::string_view* text, uint64_t* value);

// The number in the line that begins with `key`, behind blanks and tabs: "Threads:\t2". Context: watchdog.
std::optional<uint64_t> NumberInLine(std::string_view lines, std::string_view key);

namespace internal {
using NumberVisitor = bool (*)(int number, void* context);
void ForEachNumberIn(const char* folder, NumberVisitor visit, void* context);
void ForEachThread(NumberVisitor visit, void* context);

template <typename Visit>
bool Call(int number, void* visit) {
  return (*static_cast<Visit*>(visit))(number);
}
}  // namespace internal

template <typename Visit>
void ForEachNumberIn(const char* folder, Visit visit) {
  internal::ForEachNumberIn(folder, &internal::Call<Visit>, &visit);
}

template <typename Visit>
void ForEachThread(Visit visit) {
  internal::ForEachThread(&internal::Call<Visit>, &visit);
}

}  // namespace lagwatch::base
