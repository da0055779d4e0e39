// SPDX-License-Identifier: Apache-2.0
// The values that describe a hang, from its detection to its reader. Persisted in reports: numbers are never
// reused. HangKind and HangLevel are part of the C ABI too. lagwatch.proto describes each value.
// Context: any; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::policies {

enum class HangKind : int32_t {
  kUnknown = 0,
  kHang = 1,      // a dispatch
  kBusyLoop = 2,  // one short dispatch after the other, without a sleep
  kWaited = 3,    // a task in the loop's queue
  kIdleHandler = 4,
  kInput = 5,  // an input event, from its receipt on
  kScope = 6,  // a stretch of work with a deadline of its own
  // Of the process, not of a loop: nothing took too long, and no end is recorded.
  kCpu = 7,         // the process uses too much CPU right now
  kCpuAverage = 8,  // and has for a while; the samples are of all its busy threads, the heaviest first
  kFrames = 9,      // a frame of the display
  kStartup = 10,    // the whole start of the program
  kStartupHang = 11,
  kDump = 12,  // no hang: the program or a person requested a report
  kKilledInHang = 13,
  kSlow = 14,  // a dispatch below the threshold of a hang, whose calls were recorded
};
// Whether a loop or a start did not respond; the other kinds are about costs, frames or requests.
constexpr bool IsHang(HangKind kind) {
  switch (kind) {
    case HangKind::kHang:
    case HangKind::kBusyLoop:
    case HangKind::kWaited:
    case HangKind::kIdleHandler:
    case HangKind::kInput:
    case HangKind::kScope:
    case HangKind::kStartupHang:
    case HangKind::kKilledInHang:
      return true;
    default:
      return false;
  }
}

enum class HangLevel : int32_t { kHang = 0, kAnr = 1 };  // over the first threshold, over the second one too

enum class Completeness : int32_t {
  kComplete = 0,    // the stack ends where the thread began
  kCut = 1,         // the outermost part of the stack was not copied
  kIncomplete = 2,  // unwinding could not go on: the outermost frames are missing
  kNone = 3,        // the thread could not be captured
};

enum class LockKind : int32_t {
  kUnknown = 0,  // a futex of the program's own, or of the C library's internals
  kMutex = 1,
  kRwLock = 2,
  kThread = 3,  // pthread_join
  kCondition = 4,
  kSemaphore = 5,
  kBarrier = 6,
  kInterpreterLock = 7,  // that one of a language's threads holds to run
  kSafepoint = 8,        // of the JVM: the owner is a thread that has not come to it
  kClass = 9,            // of the JVM: the owner initializes it
  kCompilation = 10,     // of the JVM: the owner compiles
  // Between processes; the lock's address is the number of an inode:
  kPipe = 11,        // or a FIFO
  kUnixSocket = 12,  // or a pair of sockets
  kConnection = 13,  // TCP, within the machine
  kDisplay = 14,     // the socket of a display server
  kChild = 15,       // the end of a child, whose process id the address is
  kFileLock = 16,
  kBusCall = 17,  // the answer to a call over D-Bus, whose serial number the address is
};
enum class WaitsFor : int32_t {
  kUnknown = 0,
  kOwner = 1,    // a thread, of this process or of another one
  kReaders = 2,  // of a read-write lock, which keeps only their number
  kSignal = 3,   // any thread may give it: there is no owner
};
enum class WaitOutcome : int32_t {
  kNone = 0,      // the watched thread waits for no lock
  kLock = 1,      // it waits for one
  kDeadlock = 2,  // and no thread that it waits for can ever continue
};

// The names below are those in JSON.

// The name of `value` by its number; that of 0 for an unknown number.
template <typename Value, size_t kCount>
constexpr std::string_view NameIn(const std::array<std::string_view, kCount>& names, Value value) {
  const auto number = static_cast<uint32_t>(value);
  return names[number < kCount ? number : 0];
}

constexpr std::string_view HangKindName(HangKind kind) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"unknown", "lag", "busy-loop", "waited", "idle-handler", "input", "scope", "cpu", "cpu-average",
       "frames", "startup", "startup-lag", "dump", "killed-in-hang", "slow"});
  return NameIn(kNames, kind);
}
constexpr std::string_view HangLevelName(HangLevel level) { return level == HangLevel::kAnr ? "anr" : "lag"; }
// "none" for an unknown number, too.
constexpr std::string_view CompletenessName(Completeness completeness) {
  constexpr auto kNames = std::to_array<std::string_view>({"none", "complete", "cut", "incomplete"});
  return NameIn(kNames, static_cast<uint32_t>(completeness) + 1);
}
constexpr std::string_view LockKindName(LockKind kind) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"unknown", "mutex", "rwlock", "thread", "condition", "semaphore", "barrier", "interpreter-lock",
       "safepoint", "class", "compilation", "pipe", "unix-socket", "connection", "display", "child",
       "file-lock", "bus-call"});
  return NameIn(kNames, kind);
}
constexpr std::string_view WaitsForName(WaitsFor waits_for) {
  constexpr auto kNames = std::to_array<std::string_view>({"unknown", "owner", "readers", "signal"});
  return NameIn(kNames, waits_for);
}

}  // namespace lagwatch::policies
