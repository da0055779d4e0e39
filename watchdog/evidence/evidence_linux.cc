// SPDX-License-Identifier: Apache-2.0
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <string_view>

#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "stack/unwind/processor.h"
#include "watchdog/evidence/evidence.h"
#include "watchdog/waits/chain/signal_stop.h"
#include "watchdog/waits/file_locks.h"
#include "watchdog/waits/wait_peer.h"

namespace lagwatch::watchdog {
namespace {

using policies::Doing;

// The open of a pipe with a name waits for its other end.
bool IsOpeningPipe(const base::Thread& thread) {
  char channel[64];
  stack::ReadWaitChannel(thread, channel, sizeof channel);
  const std::string_view name(channel);
  return name.find("fifo") != std::string_view::npos ||
         name.find("wait_for_partner") != std::string_view::npos;
}

// Whether a signal's handler has made the call: it returns to an address that the kernel has put close above.
bool IsInHandler(const base::Process& process, const stack::BlockedThread& blocked) {
  uint64_t words[256];
  const size_t count = process.Read(blocked.stack_pointer, words, sizeof words) / sizeof words[0];
  return std::any_of(words, words + count, [&](uint64_t word) {
    constexpr uint64_t kLowestCode = 4096;
    unsigned char code[stack::kMaxCodeBytes];
    return word >= kLowestCode && process.ReadValue(word, &code) && stack::IsSignalReturn(code);
  });
}

constexpr int64_t kNoSystemCall = -1;  // as in a page fault

}  // namespace

Doing WhatItWaitsFor(const base::Thread& thread, const stack::BlockedThread& blocked, char state) {
  using base::CallAwaits;
  const uint64_t* arguments = blocked.arguments;
  const base::SystemCall& call = blocked.call();
  if (blocked.syscall_number == kNoSystemCall) return Doing::kMemory;
  switch (call.awaits) {
    case CallAwaits::kEvents:
      return WhatSetAwaits(thread, blocked).value_or(Doing::kUnknown);
    case CallAwaits::kDescriptor:
      return WhatDescriptorAwaits(thread, static_cast<int>(arguments[0]), state);
    case CallAwaits::kConnection:
      return Doing::kNetwork;
    case CallAwaits::kQueue:
      return Doing::kPipe;
    case CallAwaits::kRing:
      return WhatRingAwaits(thread, static_cast<int>(arguments[0]));
    case CallAwaits::kLock:
      return Doing::kLock;
    case CallAwaits::kFileLock:
      return IsFileLockCommand(arguments[1]) ? Doing::kLock : Doing::kDisk;
    case CallAwaits::kTime: {
      // Garbage collectors stop threads so: another thread has sent the signal, and sends the next one.
      const bool is_stopped = IsStopCall(blocked) && IsInHandler(thread.process, blocked);
      return is_stopped ? Doing::kLock : Doing::kSleep;
    }
    case CallAwaits::kChild:
      return Doing::kProcess;
    case CallAwaits::kMemory:
      return Doing::kMemory;
    case CallAwaits::kOpen:
      return IsOpeningPipe(thread) ? Doing::kPipe : Doing::kDisk;
    case CallAwaits::kDisk:
      return Doing::kDisk;
    case CallAwaits::kUnknown:
      break;
  }
  return state == 'D' ? Doing::kDisk : Doing::kUnknown;
}

bool WaitsForEvent(const stack::BlockedThread& blocked) {
  if (blocked.HasTimeLimit()) return false;
  // Conditions, semaphores and thread ends. Mutexes wait by FUTEX_WAIT.
  return blocked.call().may_idle || blocked.FutexCommand() == FUTEX_WAIT_BITSET;
}

}  // namespace lagwatch::watchdog
