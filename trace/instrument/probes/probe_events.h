// SPDX-License-Identifier: Apache-2.0
// The values that a probe on a native function delivers, and the functions that receive them. Plain data.
#pragma once

#include <cstdint>

namespace lagwatch::trace {

// The low 16 bytes of a vector register. A double is the bits of `low`.
struct alignas(16) VectorValue {
  uint64_t low;
  uint64_t high;
};

// A function that begins: nothing of it has run; or a note of <sys/sdt.h> that is passed. Valid during the
// handler's call.
struct ProbeEntry {
  uint64_t function;               // address of its first instruction; of a note, its own
  const uint64_t* int_args;        // 6: rdi, rsi, rdx, rcx, r8, r9
  const VectorValue* vector_args;  // 8: xmm0 to xmm7; null unless a probe of the function wants vectors
  const uint64_t* stack;           // [0] is the return address' place, [1] the first argument on the stack
  uint64_t return_address;         // the original one
  uint64_t vector_count;           // al: vector registers used by a call with variable arguments
  uint64_t frame_pointer = 0;      // rbp, which is the caller's
  // At a note, where the others but `function` are 0: 16, by DWARF's numbers; else null.
  const uint64_t* registers = nullptr;
};

// A function that ends. Valid during the handler's call.
struct ProbeReturn {
  uint64_t function;
  const uint64_t* int_args;    // 6, as they were at the entry; null unless the probe keeps arguments
  uint64_t result[2];          // rax, rdx; 0 when left by an exception
  const VectorValue* vectors;  // 2: xmm0, xmm1; null unless a probe of the function wants vectors
  uint64_t return_address;     // the original one
  uint64_t entered_ticks;      // base::ReadTicks() at the entry and at the end
  uint64_t left_ticks;
  bool left_by_exception;  // or by the end of the thread: no result
};

// The registers that handlers may change, with all that they call; the less, the cheaper is a hit.
enum class HandlerRegisters : uint8_t {
  kAny,       // all: saved by the processor's own instruction, about 120 ns. Implies needs_room
  kBaseline,  // built for plain x86-64, and calls nothing of other libraries, not even memcpy(): about 6 ns
  kGeneral,   // built with -mgeneral-regs-only: nothing
};

// The rules for handlers: they run on the program's thread, in any of its states (locks held, signals
// blocked). Where the thread's own stack has no 16 KiB left, and on all other stacks, those that need room
// are not called, which is counted as missed; others have 1 KiB. They take no lock, allocate nothing, make no
// system call, do not throw, and leave errno alone. Probes that they hit themselves are not delivered.
// Context: hot.
struct ProbeHandlers {
  // Either may be null. A probe without on_return costs no return.
  void (*on_entry)(const ProbeEntry& entry, void* user_data) = nullptr;
  void (*on_return)(const ProbeReturn& returned, void* user_data) = nullptr;
  // Deliver vector arguments and results. Costs about 3 ns.
  bool wants_vectors = false;
  // Deliver the integer arguments at the return, too.
  bool keeps_args = false;
  HandlerRegisters registers = HandlerRegisters::kAny;
  bool needs_room = false;
};

// For handlers that need room: calls `function` with the other arguments, which may change any register and
// costs what kAny does. Context: hot.
void CallWithAnyRegisters(uint64_t first, uint64_t second, uint64_t third, uint64_t fourth,
                          void (*function)(uint64_t, uint64_t, uint64_t, uint64_t));

// Whether these bytes are on the calling thread's own stack, further up than the caller's frame: they stay
// readable as long as it does. Context: hot.
bool IsOnOwnStack(uint64_t address, uint64_t size_bytes);

}  // namespace lagwatch::trace
