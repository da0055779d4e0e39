// SPDX-License-Identifier: Apache-2.0
// Recognizes waits of threads for an initializer that another thread runs once, other than the C library's
// (stack/threads/lock_owner.h): of GLib, libc++ and Rust. Context: watchdog.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "stack/code/module_map.h"
#include "stack/frames/stack.h"
#include "stack/threads/lock_owner.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

// Not thread-safe.
class Initializers {
 public:
  struct Wait {
    stack::LockOwners::OnceFrames frames;
    // The frames are also those of other waits: the owner has the address of the futex on its stack.
    bool needs_address = false;
  };
  // Of a thread that sleeps at `blocked` with `stack`; none where it waits for something else. `modules` must
  // be held.
  std::optional<Wait> Find(const stack::BlockedThread& blocked, const stack::Stack& stack,
                           const stack::ModuleMap& modules);

 private:
  static constexpr size_t kFunctions = 6;

  // Of which of the libraries' functions the frame is; kFunctions: of none.
  size_t FunctionOf(const stack::Frame& frame, const stack::ModuleMap& modules);

  // The begin of a library's function in a module; a program may have two libraries of that name.
  struct Known {
    uint32_t module = stack::kNoModule;
    uint64_t base = 0;
    uint64_t offset = 0;  // 0: the module has no such function
  };
  std::array<Known, kFunctions> known_{};
};

}  // namespace lagwatch::watchdog
