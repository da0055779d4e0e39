// SPDX-License-Identifier: Apache-2.0
// Recognizes threads that a signal's handler stops until they may go on, as garbage collectors stop
// the world (Boehm, Mono, Unity). Context: watchdog.
#pragma once

#include <cstdint>
#include <optional>

#include "stack/code/module_map.h"
#include "stack/frames/stack.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::watchdog {

// The call that waits within the handler needs no lock: sigsuspend, or pause.
bool IsStopCall(const stack::BlockedThread& blocked);

struct SignalStop {
  stack::Frame handler = {};  // the frame that the kernel called
};
// Of a thread that sleeps with `stack`; none where no handler has been called. `modules` must be held.
std::optional<SignalStop> FindSignalStop(const stack::Stack& stack, const stack::ModuleMap& modules);

// The place of a thread with `stack` towards a stop.
enum class StopPart : uint8_t {
  kNone,       // it has nothing to do with it
  kStopped,    // it is stopped by the same handler
  kService,    // it was started by the handler's library, which helps collecting
  kCollector,  // it has called into the handler's library
};
StopPart PartIn(const SignalStop& stop, const stack::Stack& stack, const stack::ModuleMap& modules);

}  // namespace lagwatch::watchdog
