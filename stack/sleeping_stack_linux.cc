// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <iterator>

#include "stack/signal/replaced_returns.h"
#include "stack/sleeping_stack.h"

namespace lagwatch::stack {
namespace {

bool IsStillTheSame(const base::Process& process, const RawStack& raw) {
  char now[4096];
  for (size_t at = 0; at < raw.size_bytes;) {
    const size_t size = std::min<size_t>(raw.size_bytes - at, sizeof now);
    if (process.Read(raw.address + at, now, size) != size) return false;
    MendReturns(raw.address + at, now, now, size);
    if (std::memcmp(raw.bytes + at, now, size) != 0) return false;
    at += size;
  }
  return true;
}

#if defined(__x86_64__)
constexpr int kArgumentRegisters[] = {5, 4, 1, 10, 8, 9};  // rdi, rsi, rdx, r10, r8, r9
#endif

// All that is known of a thread that sleeps in the kernel: the place, and the registers of its call's
// arguments, one of which vfork(2) keeps its return address in.
Registers RegistersOf(const BlockedThread& blocked) {
  Registers registers{};
  const auto set = [&](int number, uint64_t value) {
    registers.value[number] = value;
    registers.known_mask |= uint64_t{1} << number;
  };
  set(Registers::kStackPointer, blocked.stack_pointer);
  set(Registers::kProgramCounter, blocked.program_counter);
#if defined(__x86_64__)
  for (size_t i = 0; blocked.syscall_number >= 0 && i < std::size(kArgumentRegisters); ++i)
    set(kArgumentRegisters[i], blocked.arguments[i]);
#endif
  return registers;
}

}  // namespace

bool ReadSleepingStack(const base::Thread& thread, const BlockedThread& blocked, const StackRegions& stacks,
                       int activity_fd, RawStack* raw, NoStackReason* reason) {
  raw->registers = RegistersOf(blocked);
  const MemoryRegion live = stacks.LiveStack(blocked.stack_pointer);
  raw->address = live.begin;
  raw->end = live.end;
  const int64_t cpu_ns = thread.CpuNs();
  raw->size_bytes = thread.process.Read(raw->address, raw->bytes,
                                        std::min<uint64_t>(raw->end - raw->address, kMaxRawStackBytes));
  MendReturns(raw->address, raw->bytes, raw->bytes, raw->size_bytes);
  *reason = raw->size_bytes == 0 ? NoStackReason::kUnreadable : NoStackReason::kUnsteady;
  // Nothing moved while the stack was read, if the thread is in the same call and has not run, or has
  // left its stack unchanged. The call alone is no proof: a loop may be back in it by now, or fault at
  // the same place.
  BlockedThread after;
  return raw->size_bytes != 0 && (thread.CpuNs() == cpu_ns || IsStillTheSame(thread.process, *raw)) &&
         ReadThreadActivity(thread, activity_fd, &after) == ThreadActivity::kBlocked && after == blocked;
}

}  // namespace lagwatch::stack
