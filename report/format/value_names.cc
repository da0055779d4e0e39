// SPDX-License-Identifier: Apache-2.0
#include "report/format/report.h"

namespace lagwatch::report {

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kLag:
      return "lag";
    case Kind::kBusyLoop:
      return "busy-loop";
    case Kind::kWaited:
      return "waited";
    case Kind::kIdleHandler:
      return "idle-handler";
    case Kind::kInput:
      return "input";
    case Kind::kScope:
      return "scope";
    case Kind::kCpu:
      return "cpu";
    case Kind::kCpuAverage:
      return "cpu-average";
    case Kind::kFrames:
      return "frames";
    case Kind::kStartup:
      return "startup";
    case Kind::kStartupLag:
      return "startup-lag";
    case Kind::kDump:
      return "dump";
    case Kind::kKilledInHang:
      return "killed-in-hang";
    case Kind::kSlow:
      return "slow";
    case Kind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view LevelName(Level level) { return level == Level::kAnr ? "anr" : "lag"; }

std::string_view LockKindName(LockKind kind) {
  switch (kind) {
    case LockKind::kMutex:
      return "mutex";
    case LockKind::kRwLock:
      return "rwlock";
    case LockKind::kThread:
      return "thread";
    case LockKind::kCondition:
      return "condition";
    case LockKind::kSemaphore:
      return "semaphore";
    case LockKind::kBarrier:
      return "barrier";
    case LockKind::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view WaitsForName(WaitsFor waits_for) {
  switch (waits_for) {
    case WaitsFor::kOwner:
      return "owner";
    case WaitsFor::kReaders:
      return "readers";
    case WaitsFor::kSignal:
      return "signal";
    case WaitsFor::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace lagwatch::report
