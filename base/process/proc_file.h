// SPDX-License-Identifier: Apache-2.0
// Small files of /proc, read and parsed without allocation, stdio or locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::base {

// Builds a path like "/proc/self/task/123/comm" in place. Context: watchdog.
class TaskPath {
 public:
  TaskPath(int tid, const char* leaf);
  const char* c_str() const { return text_; }

 private:
  char text_[64];
};

// The file's first `size_bytes` bytes; an empty view when it cannot be opened. Context: watchdog.
std::string_view ReadSmallFile(const char* path, char* buffer, size_t size_bytes);

// Calls `visit(tid)` for every thread of this process until it returns false. Context: watchdog.
template <typename Visit>
void ForEachThread(Visit visit);

// Takes a number off the front of `text` (leading blanks skipped); false when there is
// none. Context: watchdog.
bool ConsumeHex(std::string_view* text, uint64_t* value);
bool ConsumeDecimal(std::string_view* text, uint64_t* value);

namespace internal {
using ThreadVisitor = bool (*)(int tid, void* context);
void ForEachThread(ThreadVisitor visit, void* context);
}  // namespace internal

template <typename Visit>
void ForEachThread(Visit visit) {
  internal::ForEachThread([](int tid, void* context) { return (*static_cast<Visit*>(context))(tid); },
                          &visit);
}

}  // namespace lagwatch::base
