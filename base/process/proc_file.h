// SPDX-License-Identifier: Apache-2.0
// Small files of /proc, read and parsed without allocation, stdio or locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/process/process.h"

namespace lagwatch::base {

// Builds a path like "/proc/self/task/123/comm" in place. Context: watchdog.
class TaskPath {
 public:
  TaskPath(const Thread& thread, const char* leaf);
  const char* c_str() const { return text_; }

 private:
  char text_[64];
};

// The file's first `size_bytes` bytes; an empty view when it cannot be opened. Context: watchdog.
std::string_view ReadSmallFile(const char* path, char* buffer, size_t size_bytes);

// Calls `visit(line)` for each line of the file, until it returns false. It is read piece by piece; what is
// longer than `buffer` comes in several lines. False when the file cannot be opened. Context: watchdog.
template <typename Visit>
bool ForEachLine(const char* path, std::span<char> buffer, Visit visit);

// Calls `visit(number)` for each entry of the folder that is a number, until it returns false. Context:
// watchdog.
template <typename Visit>
void ForEachNumberIn(const char* folder, Visit visit);
// Calls `visit(tid)` for every thread of the process until it returns false. Context: watchdog.
template <typename Visit>
void ForEachThread(const Process& process, Visit visit);

// Takes a number off the front of `text` (leading blanks skipped); false when there is
// none. Context: watchdog.
bool ConsumeHex(std::string_view* text, uint64_t* value);
bool ConsumeDecimal(std::string_view* text, uint64_t* value);

// The number in the line that begins with `key`, behind blanks and tabs: "Threads:\t2". Context: watchdog.
std::optional<uint64_t> NumberInLine(std::string_view lines, std::string_view key);

namespace internal {
using LineVisitor = bool (*)(std::string_view line, void* context);
bool ForEachLine(const char* path, std::span<char> buffer, LineVisitor visit, void* context);
using NumberVisitor = bool (*)(int number, void* context);
void ForEachNumberIn(const char* folder, NumberVisitor visit, void* context);
void ForEachThread(const Process& process, NumberVisitor visit, void* context);

template <typename Visit, typename What>
bool Call(What what, void* visit) {
  return (*static_cast<Visit*>(visit))(what);
}
}  // namespace internal

template <typename Visit>
bool ForEachLine(const char* path, std::span<char> buffer, Visit visit) {
  return internal::ForEachLine(path, buffer, &internal::Call<Visit, std::string_view>, &visit);
}

template <typename Visit>
void ForEachNumberIn(const char* folder, Visit visit) {
  internal::ForEachNumberIn(folder, &internal::Call<Visit, int>, &visit);
}

template <typename Visit>
void ForEachThread(const Process& process, Visit visit) {
  internal::ForEachThread(process, &internal::Call<Visit, int>, &visit);
}

}  // namespace lagwatch::base
