// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "base/system/system_calls.h"
#include "stack/threads/thread_state.h"

namespace lagwatch::stack {
namespace {

// The number that the program loads right before its system call, as C libraries mostly do.
std::optional<int64_t> NumberInCode(const base::Process& process, uint64_t return_address) {
#if defined(__x86_64__)
  constexpr size_t kBytes = 7;  // mov $number, %eax; syscall
  unsigned char code[kBytes];
  uint32_t number = 0;
  if (process.Read(return_address - kBytes, code, kBytes) != kBytes) return std::nullopt;
  if (code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05) return std::nullopt;
  std::memcpy(&number, code + 1, sizeof number);
  return number;
#elif defined(__aarch64__)
  uint32_t code[2];  // mov x8, #number; svc #0
  if (process.Read(return_address - sizeof code, code, sizeof code) != sizeof code) return std::nullopt;
  if ((code[0] & 0xffe0001f) != 0xd2800008 || code[1] != 0xd4000001) return std::nullopt;
  return code[0] >> 5 & 0xffff;
#else
  static_cast<void>(process);
  static_cast<void>(return_address);
  return std::nullopt;
#endif
}

// Of clock_nanosleep(2) it is a clock's number, negative for that of a thread's or a process's CPU time.
int64_t SleepBy(uint64_t first_argument) {
  constexpr uint64_t kHighestClock = 4095;  // below all addresses
  const uint64_t high = first_argument >> 32;
  const bool is_negative = static_cast<int32_t>(first_argument) < 0 && (high == 0 || high == 0xffff'ffff);
  return first_argument <= kHighestClock || is_negative ? SYS_clock_nanosleep : SYS_nanosleep;
}

// By the kernel's function that the thread sleeps in.
std::optional<int64_t> NumberByChannel(const base::Thread& thread, uint64_t first_argument) {
  char channel[64];
  ReadWaitChannel(thread, channel, sizeof channel);
  const std::string_view function = FunctionOfChannel(channel);
  if (function.starts_with("futex")) return SYS_futex;
#ifdef SYS_poll
  if (function.find("poll") != std::string_view::npos) return SYS_poll;
#endif
  // A sleep's own function may be left out: it calls the next one last.
  if (function.find("sleep") != std::string_view::npos ||
      function.find("syscall") != std::string_view::npos || function.find("svc") != std::string_view::npos)
    return SleepBy(first_argument);
  return std::nullopt;
}

}  // namespace

void NameRestartedCall(const base::Thread& thread, BlockedThread* blocked) {
  if (blocked->syscall_number != SYS_restart_syscall) return;
  std::optional<int64_t> number = NumberInCode(thread.process, blocked->program_counter);
  if (!number || !base::SystemCallOf(*number).is_continued)
    number = NumberByChannel(thread, blocked->arguments[0]);
  blocked->syscall_number = number.value_or(SYS_restart_syscall);
}

}  // namespace lagwatch::stack
