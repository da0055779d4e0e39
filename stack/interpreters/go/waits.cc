// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/go/waits.h"

#include <algorithm>
#include <iterator>

namespace lagwatch::stack::go {
namespace {

using policies::Doing;

struct Row {
  std::string_view function;
  WaitKind kind;
};
// Functions that wait. Of those that call each other, the outer one says more.
constexpr Row kRows[] = {
    {"runtime.chanrecv", WaitKind::kChannelReceive},
    {"runtime.chansend", WaitKind::kChannelSend},
    {"runtime.selectgo", WaitKind::kSelect},
    {"runtime.block", WaitKind::kForEver},
    {"runtime.semacquire1", WaitKind::kSemaphore},
    {"sync.(*Mutex).lockSlow", WaitKind::kMutex},
    {"internal/sync.(*Mutex).lockSlow", WaitKind::kMutex},
    {"sync.(*RWMutex).Lock", WaitKind::kWriteLock},
    {"sync.(*RWMutex).RLock", WaitKind::kReadLock},
    {"sync.(*WaitGroup).Wait", WaitKind::kGroup},
    {"sync.runtime_notifyListWait", WaitKind::kCondition},
    {"time.Sleep", WaitKind::kSleep},
    {"internal/poll.runtime_pollWait", WaitKind::kNetwork},
    {"runtime.runfinq", WaitKind::kFinalizers},
    {"runtime.runFinalizers", WaitKind::kFinalizers},
};

}  // namespace

std::string_view NameOf(WaitKind kind) {
  switch (kind) {
    case WaitKind::kNone:
      break;
    case WaitKind::kChannelReceive:
      return "chan receive";
    case WaitKind::kChannelSend:
      return "chan send";
    case WaitKind::kSelect:
      return "select";
    case WaitKind::kForEver:
      return "select (no cases)";
    case WaitKind::kMutex:
      return "sync.Mutex";
    case WaitKind::kReadLock:
      return "sync.RWMutex.RLock";
    case WaitKind::kWriteLock:
      return "sync.RWMutex.Lock";
    case WaitKind::kGroup:
      return "sync.WaitGroup";
    case WaitKind::kCondition:
      return "sync.Cond";
    case WaitKind::kSemaphore:
      return "semaphore";
    case WaitKind::kSleep:
      return "sleep";
    case WaitKind::kNetwork:
      return "IO wait";
    case WaitKind::kFinalizers:
      return "finalizer wait";
  }
  return "";
}

Doing DoingOf(WaitKind kind) {
  switch (kind) {
    case WaitKind::kNone:
    case WaitKind::kFinalizers:
      return Doing::kUnknown;
    case WaitKind::kSleep:
      return Doing::kSleep;
    case WaitKind::kNetwork:
      return Doing::kNetwork;
    default:
      return Doing::kLock;
  }
}

bool WaitReader::Add(std::string_view function) {
  if (!IsRunTime(function)) return false;
  const auto* row = std::ranges::find(kRows, function, &Row::function);
  if (row != std::end(kRows)) kind_ = row->kind;
  is_for_mutex_ |= kind_ == WaitKind::kMutex;
  return true;
}

uint64_t WaitReader::semaphore_offset() const {
  constexpr uint64_t kOfMutex = 4;
  constexpr uint64_t kOfWriter = 8;
  constexpr uint64_t kOfReaders = 12;
  if (is_for_mutex_) return kOfMutex;
  return kind_ == WaitKind::kReadLock ? kOfReaders : kOfWriter;
}

bool IsRunTime(std::string_view function) {
  constexpr std::string_view kPackages[] = {
      "runtime.",          "sync.",    "internal/sync.",   "internal/poll.", "time.Sleep",
      "internal/runtime/", "runtime/", "internal/syscall", "syscall."};
  // The program's main function is called by the run time, but its goroutine is the program's.
  if (function == "runtime.main") return false;
  return std::ranges::any_of(kPackages,
                             [&](std::string_view package) { return function.starts_with(package); });
}

}  // namespace lagwatch::stack::go
