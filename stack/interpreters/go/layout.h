// SPDX-License-Identifier: Apache-2.0
// The members of Go's run time that are read, by its version.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::stack::go {

// Offsets in bytes. Measured by the debug information of programs.
struct Layout {
  uint32_t minor_version;
  // Of a goroutine (runtime.g).
  uint16_t thread;
  uint16_t stack_pointer;
  uint16_t program_counter;
  uint16_t call_stack_pointer;  // of a system call
  uint16_t call_program_counter;
  uint16_t status;
  uint16_t id;
  uint16_t turns;
  uint16_t locked_thread;
  uint16_t waiting;
  uint16_t start;
  // Of a thread (runtime.m).
  uint16_t thread_id;
  uint16_t thread_goroutine;
  uint16_t thread_locked_goroutine;
  // Of a place in a queue (runtime.sudog).
  uint16_t queued_address;
  uint16_t queued_channel;
};

// Null for a version that is not known.
const Layout* FindLayout(uint32_t minor_version);

}  // namespace lagwatch::stack::go
