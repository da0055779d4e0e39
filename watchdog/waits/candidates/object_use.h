// SPDX-License-Identifier: Apache-2.0
// The object of a wait that records no owner, and the traces of it in the threads that work with it. Context:
// watchdog.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/process/process.h"
#include "stack/code/module_map.h"
#include "stack/frames/live_values.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

struct AwaitedObject {
  uint64_t futex = 0;         // the word that is waited for; 0: a descriptor is
  uint64_t before_bytes = 0;  // the object begins so many bytes before the word, or less
  // Descriptors of the process that are the other end of the one that is waited for.
  std::array<int, 4> ends{};
  size_t end_count = 0;
  uint64_t stack_pointer = 0;  // of the waiting thread

  bool Holds(uint64_t address) const { return IsBehind(address, before_bytes); }
  // The object may be a part of what begins so far before the word, and is likely to be, as a condition is
  // next to its mutex.
  static constexpr uint64_t kMostBytes = 512;
  static constexpr uint64_t kCloseBytes = 128;
  bool IsBehind(uint64_t address, uint64_t most_bytes) const {
    return futex != 0 && address <= futex && futex - address <= most_bytes;
  }
  bool HasEnd(uint64_t value) const {
    for (size_t i = 0; i < end_count; ++i)
      if (value == static_cast<uint64_t>(ends[i])) return true;
    return false;
  }
};

// The better ones are larger.
enum class ObjectUse : uint8_t {
  kNone,
  kNear,        // a live value leads to it
  kDescriptor,  // a live value is the number of its descriptor, or of something else that has that number
  kCalledCode,  // code of a function that one on the stack calls refers to it
  kCode,        // code of a function on the stack refers to it
  kValue,       // it is a live value
};

class ObjectUses {
 public:
  explicit ObjectUses(const AwaitedObject& object) : object_(object) {}

  const AwaitedObject& object() const { return object_; }
  struct Found {
    ObjectUse use = ObjectUse::kNone;
    // Of kValue and kNear: of the word that is waited for from the address found.
    uint64_t distance = UINT64_MAX;
  };
  // Of `thread` with these live values. `modules` must be held.
  Found Of(const base::Thread& thread, const stack::LiveValues& live, const stack::ModuleMap& modules);

 private:
  // kCode, kCalledCode or kNone.
  ObjectUse InCode(const stack::LiveValues::Frame& frame, const stack::ModuleMap& modules);
  uint64_t DistanceFrom(uint64_t address, uint64_t most_bytes) const;
  static constexpr size_t kMostAtOnce = 128;
  static uint64_t BlockSizeAt(const base::Process& process, uint64_t address);
  // The number of bytes that begin at `address` and belong together, kMostAtOnce at most.
  size_t SizeAt(const base::Process& process, uint64_t address, const stack::ModuleMap& modules) const;
  // From the addresses in what `address` points at, and, so many `steps` on, in what these point at, which
  // must be the object's own.
  uint64_t DistanceBehind(uint64_t address, uint64_t most_bytes, int steps,
                          const stack::ModuleMap& modules) const;
  bool HasEndIn(uint64_t address, const stack::ModuleMap& modules) const;

  AwaitedObject object_;
  // Functions that were looked at, since threads have many in common.
  struct Function {
    uint64_t begin = 0;
    ObjectUse use = ObjectUse::kNone;
  };
  std::array<Function, 128> functions_{};
};

// Number of times that the innermost 64 KiB of the stack of a thread that sleeps at `blocked` hold `value`.
size_t CountOnStack(const base::Process& process, const stack::BlockedThread& blocked, uint64_t value);

// Whether the module came with the system, and not with the program.
bool IsOfSystem(const stack::Module& module);

}  // namespace lagwatch::watchdog
