// SPDX-License-Identifier: Apache-2.0
// HotSpot's list of the threads that can run Java code. Source: share/runtime/threadSMR.hpp, javaThread.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "stack/interpreters/jvm/layout.h"
#include "stack/interpreters/memory.h"

namespace lagwatch::stack::jvm {

// A thread's state as the JVM keeps it: JavaThreadState, of share/utilities/globalDefinitions.hpp.
enum class ThreadState : uint32_t {
  kUnknown = 0,
  kInNative = 4,
  kInVm = 6,
  kInJava = 8,
  kBlocked = 10,
};

// A thread is the address of its object in the JVM, 0 for none. Context: watchdog; not thread-safe.
class Threads {
 public:
  // Both are borrowed.
  void Attach(Memory* memory, const JvmLayout* layout) {
    memory_ = memory;
    layout_ = layout;
  }

  uint64_t Find(int tid);
  // 0 if it is no thread.
  int TidOf(uint64_t thread);
  // The java.lang.Thread, which a collection may move: of a virtual thread while one is mounted.
  uint64_t ObjectOf(uint64_t thread);
  ThreadState StateOf(uint64_t thread);
  // Calls `take` with each thread until it returns true.
  template <typename Take>
  void ForEach(Take take);

 private:
  static constexpr uint32_t kMostThreads = 8192;
  // A thread by its id; a hint, since it may have ended.
  struct Hint {
    int tid = 0;
    uint64_t thread = 0;
  };

  Memory* memory_ = nullptr;
  const JvmLayout* layout_ = nullptr;
  std::array<Hint, 256> hints_{};
};

template <typename Take>
void Threads::ForEach(Take take) {
  uint64_t list = 0;
  uint64_t threads = 0;
  uint32_t count = 0;
  if (!memory_->Read(layout_->thread_list, &list) || list == 0 ||
      !memory_->Read(list + layout_->list_length, &count) ||
      !memory_->Read(list + layout_->list_threads, &threads))
    return;
  std::array<uint64_t, 64> part;
  for (uint32_t i = 0; i < std::min(count, kMostThreads); i += part.size()) {
    const uint32_t size = std::min<uint32_t>(part.size(), count - i);
    if (!memory_->Read(threads + i * sizeof part[0], part.data(), size * sizeof part[0])) return;
    for (uint32_t j = 0; j < size; ++j) {
      if (take(part[j])) return;
    }
  }
}

}  // namespace lagwatch::stack::jvm
