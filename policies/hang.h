// SPDX-License-Identifier: Apache-2.0
// The values that describe a hang, from its detection to its reader. Persisted in reports: numbers are never
// reused. HangKind and HangLevel are part of the C ABI too. report_enums.def has their values, with meanings.
// Context: any; pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace lagwatch::policies {

enum class HangKind : int32_t {
#define HANG_KIND(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
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

enum class HangLevel : int32_t {
#define HANG_LEVEL(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
enum class Completeness : int32_t {
#define COMPLETENESS(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
enum class LockKind : int32_t {
#define LOCK_KIND(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
enum class WaitsFor : int32_t {
#define WAITS_FOR(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};
enum class WaitOutcome : int32_t {
#define WAIT_OUTCOME(number, enumerator, ...) enumerator = number,
#include "policies/report_enums.def"
};

// The names below are those in JSON.

constexpr std::string_view HangKindName(HangKind kind) {
  switch (kind) {
#define HANG_KIND(number, enumerator, name, ...) \
  case HangKind::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "unknown";
}
constexpr std::string_view HangLevelName(HangLevel level) {
  switch (level) {
#define HANG_LEVEL(number, enumerator, name, ...) \
  case HangLevel::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "lag";
}
constexpr std::string_view CompletenessName(Completeness completeness) {
  switch (completeness) {
#define COMPLETENESS(number, enumerator, name, ...) \
  case Completeness::enumerator:                    \
    return name;
#include "policies/report_enums.def"
  }
  return "none";
}
constexpr std::string_view LockKindName(LockKind kind) {
  switch (kind) {
#define LOCK_KIND(number, enumerator, name, ...) \
  case LockKind::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "unknown";
}
constexpr std::string_view WaitsForName(WaitsFor waits_for) {
  switch (waits_for) {
#define WAITS_FOR(number, enumerator, name, ...) \
  case WaitsFor::enumerator:                     \
    return name;
#include "policies/report_enums.def"
  }
  return "unknown";
}

}  // namespace lagwatch::policies
