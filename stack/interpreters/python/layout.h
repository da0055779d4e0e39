// SPDX-License-Identifier: Apache-2.0
// The places of a thread's frames in CPython's memory, by version. Source: the structures of CPython's
// headers (Include/cpython, Include/internal) on 64-bit systems; from 3.13 on the offsets that _PyRuntime
// itself begins with (Include/internal/pycore_debug_offsets.h). Context: any (plain data).
#pragma once

#include <cstdint>
#include <span>

#include "stack/interpreters/memory.h"

namespace lagwatch::stack::python {

inline constexpr uint16_t kNone = UINT16_MAX;  // this version has no such member

// The format of a code object's table of lines.
enum class LineTable : uint8_t {
  kLnotab,     // until 3.9
  kLineTable,  // 3.10
  kLocations,  // since 3.11
};

// Offsets in bytes.
struct PythonLayout {
  uint16_t interpreters;  // in _PyRuntime: the first interpreter
  uint16_t next_interpreter;
  uint16_t threads;  // in an interpreter: its first thread's state
  uint16_t next_thread;
  uint16_t pthread;  // in a thread's state, as all until `frame`: its pthread_t, where it has no native id
  uint16_t native_thread_id;  // kNone until 3.10
  uint16_t frame;             // the current frame, or what leads there
  uint16_t frame_in_cframe;   // the current frame in the C frame that `frame` points to; kNone: `frame` is it
  uint16_t caller;            // in a frame, as all until `owner`
  uint16_t code;
  uint16_t instruction;
  uint16_t is_entry;   // 3.11: the first frame of its call of the evaluation function
  uint16_t owner;      // since 3.12: kOwnedByC for a frame that stands for such a call
  uint16_t file_name;  // in a code object, as all until `bytecode`
  uint16_t name;       // its qualified name, where there is one
  uint16_t first_line;
  uint16_t line_table;
  uint16_t bytecode;  // kNone: the instruction is an index
  uint16_t ascii_text;
  uint16_t wide_text;
  // The global interpreter lock: until 3.11 in _PyRuntime, since 3.12 where an interpreter points to.
  bool has_pointer_to_lock;
  uint16_t lock;
  uint16_t lock_holder;  // in the lock: the state of the thread that took it last
  uint16_t is_locked;    // the number of turns is 8 bytes further on
  uint16_t modules;      // in an interpreter: the dict of its modules
  // In a coroutine: its frame, or, until 3.10, the address of its frame.
  bool has_frame_in_coroutine;
  uint16_t coroutine_frame;
  // In a task of asyncio: its coroutine. The future that it waits for is before it, its name after it.
  uint16_t task_coroutine;
  LineTable lines;
};

inline constexpr size_t kLockBytes = 208;  // with its mutexes and conditions

inline constexpr uint8_t kOwnedByC = 3;

// The layout of a version as Py_Version has it, or, where that is missing, of `minor_hint` (0: not known).
// `runtime` is the address of _PyRuntime. False for versions that are not known.
bool FindLayout(Memory* memory, uint64_t runtime, uint32_t version, int minor_hint, PythonLayout* layout);

// Whether the build has no global interpreter lock. Since 3.13. `runtime` is the address of _PyRuntime.
bool IsFreeThreaded(Memory* memory, uint64_t runtime);

// The line of an instruction, from a code object's table (lines.cc). Source: CPython,
// Objects/lnotab_notes.txt, Objects/locations.md. Context: any; pure. `instruction` is an offset in bytes
// into the code. Returns 0 where the table names no line. Any bytes may be given: they may have been changed
// while they were read.
uint32_t LineOf(LineTable kind, std::span<const uint8_t> table, uint32_t first_line, uint32_t instruction);

}  // namespace lagwatch::stack::python
