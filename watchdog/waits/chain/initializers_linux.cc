// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "stack/interpreters/exported_symbols.h"
#include "watchdog/waits/candidates/object_use.h"
#include "watchdog/waits/chain/initializers.h"

namespace lagwatch::watchdog {
namespace {

// A library's function in which threads wait for the one that runs the initializer.
struct LibraryFunction {
  const char* library;  // the beginning of its file's name
  const char* name;
  // The initializer is run by the function's caller, further on, and not by the function itself.
  bool is_run_by_caller;
};
constexpr LibraryFunction kLibraryFunctions[] = {
    {"libglib-2.0", "g_once_init_enter", true}, {"libglib-2.0", "g_once_init_enter_pointer", true},
    {"libglib-2.0", "g_once_impl", false},      {"libc++abi", "__cxa_guard_acquire", true},
    {"libc++", "__cxa_guard_acquire", true},    {"libc++", "_ZNSt3__111__call_onceERVmPvPFvS2_E", false},
};

// Between the system call and the waiting function.
constexpr uint32_t kMostInner = 6;

// A state of Rust's std::sync::Once, or of a pthread_once_t of musl: the initializer runs, and others wait.
// Of other futexes these are counters.
bool IsStateOfOnce(const stack::BlockedThread& blocked) {
  constexpr uint32_t kQueued = 3;  // musl; Rust 1.65 to 1.83
  constexpr uint32_t kRunningAndQueued = 5;
  const int command = blocked.FutexCommand();
  const auto value = static_cast<uint32_t>(blocked.arguments[2]);
  const bool has_timeout = blocked.arguments[3] != 0;
  return !has_timeout &&
         ((command == FUTEX_WAIT_BITSET && (value == kQueued || value == kRunningAndQueued)) ||
          (command == FUTEX_WAIT && value == kQueued));
}

}  // namespace

size_t Initializers::FunctionOf(const stack::Frame& frame, const stack::ModuleMap& modules) {
  static_assert(std::size(kLibraryFunctions) == kFunctions);
  if (frame.module == stack::kNoModule || frame.function_offset == 0) return kFunctions;
  const stack::Module& module = modules.module(frame.module);
  const std::string_view file = module.file_name();
  for (size_t i = 0; i < kFunctions; ++i) {
    if (!file.starts_with(kLibraryFunctions[i].library)) continue;
    Known& known = known_[i];
    if (known.module != frame.module || known.base != module.base) {
      stack::PresentMemory memory(modules.process());
      const stack::ExportedSymbols symbols(&memory, module.base, module.load_bias);
      const uint64_t address = symbols.Find(kLibraryFunctions[i].name);
      known = {frame.module, module.base, address == 0 ? 0 : address - module.load_bias};
    }
    if (known.offset == frame.function_offset) return i;
  }
  return kFunctions;
}

std::optional<Initializers::Wait> Initializers::Find(const stack::BlockedThread& blocked,
                                                     const stack::Stack& stack,
                                                     const stack::ModuleMap& modules) {
  for (uint32_t i = 0; i < std::min(stack.frame_count, kMostInner); ++i) {
    const size_t function = FunctionOf(stack.frames[i], modules);
    if (function == kFunctions) continue;
    const bool is_run_by_caller = kLibraryFunctions[function].is_run_by_caller;
    const uint32_t begin = is_run_by_caller ? i + 1 : i;
    if (begin >= stack.frame_count) return std::nullopt;
    return Wait{.frames = {.begin = begin, .end = begin + 1, .is_in_order = is_run_by_caller}};
  }
  // The system call, the library's function around it, and the waiting one.
  constexpr uint32_t kFrames = 4;
  if (!IsStateOfOnce(blocked) || stack.frame_count == 0) return std::nullopt;
  return Wait{.frames = {.begin = 0, .end = std::min(stack.frame_count, kFrames)}, .needs_address = true};
}

}  // namespace lagwatch::watchdog
