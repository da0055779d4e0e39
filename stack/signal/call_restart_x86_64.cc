// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <ucontext.h>

#include <cerrno>

#include "base/system/system_calls.h"
#include "stack/signal/call_restart.h"
#include "stack/signal/kernel_calls.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kCallBytes = 2;
constexpr unsigned char kCall[kCallBytes] = {0x0f, 0x05};

// The length of a move between registers, from the stack to one, or of one cleared, as they stand between the
// load of a call's number and the call; 0 when `code` is something else, or may change that number.
size_t MoveBytes(const unsigned char* code, size_t room) {
  const bool has_prefix = room != 0 && (code[0] & 0xf0) == 0x40;
  const size_t at = has_prefix ? 1 : 0;
  if (room < at + 2) return 0;
  const unsigned operation = code[at];
  const unsigned mode = code[at + 1] >> 6;
  const unsigned first = (code[at + 1] >> 3 & 7) | (has_prefix && (code[0] & 4) != 0 ? 8 : 0);
  const unsigned second = (code[at + 1] & 7) | (has_prefix && (code[0] & 1) != 0 ? 8 : 0);
  constexpr unsigned kRax = 0;
  constexpr unsigned kRegisters = 3;
  constexpr unsigned kStackByte = 4;
  const bool is_load = operation == 0x8b;
  const bool writes_second = operation == 0x89 || operation == 0x31;  // mov, xor
  if (mode == kRegisters && (is_load || writes_second))
    return (is_load ? first : second) == kRax ? 0 : at + 2;
  if (!is_load || first == kRax || second != kStackByte || mode > 2) return 0;
  constexpr size_t kDisplacementBytes[] = {0, 1, 4};
  const size_t size = at + 3 + kDisplacementBytes[mode];
  return size <= room && code[at + 2] == 0x24 ? size : 0;
}

bool AreMoves(const unsigned char* code, const unsigned char* end) {
  while (code != end) {
    const size_t size = MoveBytes(code, static_cast<size_t>(end - code));
    if (size == 0) return false;
    code += size;
  }
  return true;
}

// `pair` is where the C library puts the mask's address and size; the address is 0 without one.
bool HasMaskOfPselect(uint64_t pair) {
  uint64_t mask = 0;
  return pair != 0 &&
         (CopyReadable(pair, reinterpret_cast<char*>(&mask), sizeof mask) != sizeof mask || mask != 0);
}

// Whether the call, once interrupted, has done nothing yet, and means the same when it is made again.
bool IsRepeatable(int64_t number, bool was_asleep, const greg_t* registers) {
  constexpr int kArguments[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
  const base::SystemCall& call = base::kX86_64Calls.Of(number);
  const auto mask = static_cast<uint64_t>(registers[kArguments[call.mask_argument]]);
  switch (call.repeat) {
    case base::Repeat::kAlways:
      return true;
    case base::Repeat::kWithoutMask:
      return mask == 0;
    case base::Repeat::kWithoutMaskOfPair:
      return !HasMaskOfPselect(mask);
    case base::Repeat::kByCommand: {
      const auto command =
          static_cast<int>(registers[REG_RSI]) & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);
      return (command == FUTEX_WAIT && !was_asleep) || command == FUTEX_WAIT_BITSET;
    }
    case base::Repeat::kUnsafe:
      break;
  }
  return false;
}

// Whether a handler of the program's may have run since the call ended, or runs before it could be made
// again. One that lets ours interrupt it would have been seen in the context; one that does not may be
// over just now.
bool MayConcernProgram(int signal_number, SignalSet blocked) {
  SignalSet handled = 0;
  for (int other = 1; other <= kMaxSignalNumber; ++other) {
    if (other == signal_number || ((kFaultSignals | blocked) & SignalBit(other)) != 0) continue;
    SignalSet blocked_meanwhile;
    if (!IsHandled(other, &blocked_meanwhile)) continue;
    if ((blocked_meanwhile & SignalBit(signal_number)) != 0) return true;
    handled |= SignalBit(other);
  }
  return (PendingSignals() & handled) != 0;
}

}  // namespace

int64_t NumberOfCall(const unsigned char (&code)[kCodeBeforeCallBytes]) noexcept {
  constexpr unsigned char kLoadNumber = 0xb8;
  constexpr size_t kLoadBytes = 5;
  const unsigned char* call = code + kCodeBeforeCallBytes - kCallBytes;
  if (call[0] != kCall[0] || call[1] != kCall[1]) return -1;
  for (const unsigned char* load = call - kLoadBytes; load > code; --load) {
    const bool is_other_register = (load[-1] & 0xf0) == 0x40;  // or may be: that byte is a prefix
    if (load[0] != kLoadNumber || is_other_register || load[3] != 0 || load[4] != 0) continue;
    if (AreMoves(load + kLoadBytes, call)) return load[1] | load[2] << 8;
  }
  return -1;
}

void RestartInterruptedCall(int signal_number, bool was_asleep, void* user_context) noexcept {
  auto* context = static_cast<ucontext_t*>(user_context);
  greg_t* registers = context->uc_mcontext.gregs;
  // A system call leaves its own end in rcx.
  if (registers[REG_RAX] != -EINTR || registers[REG_RCX] != registers[REG_RIP]) return;
  unsigned char code[kCodeBeforeCallBytes];
  const uint64_t code_address = static_cast<uint64_t>(registers[REG_RIP]) - sizeof code;
  if (CopyReadable(code_address, reinterpret_cast<char*>(code), sizeof code) != sizeof code) return;
  const int64_t number = NumberOfCall(code);
  if (!IsRepeatable(number, was_asleep, registers)) return;
  SignalSet blocked;
  __builtin_memcpy(&blocked, &context->uc_sigmask, sizeof blocked);
  if (MayConcernProgram(signal_number, blocked)) return;
  registers[REG_RAX] = number;
  registers[REG_RIP] -= static_cast<greg_t>(kCallBytes);
}

}  // namespace lagwatch::stack
