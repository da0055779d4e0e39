// SPDX-License-Identifier: Apache-2.0
// Recognizes hangs among the events of Sentry's SDKs, and converts them to records like those of our own
// clients. docs/sentry.md lists the fields. Context: background; pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/uuid.h"
#include "policies/hang.h"

namespace lagwatch::collector {

struct HangTime {
  int64_t at_least_ns = 0;
  std::optional<int64_t> at_most_ns = std::nullopt;  // once it is over

  bool operator==(const HangTime&) const = default;
};

// The first duration in a text of an SDK: "at least 2000 ms" during a hang, "between 2.0 and 2.3 seconds" or
// "2150 ms" afterwards. Nothing when there is none, or it is longer than a year.
std::optional<HangTime> FindHangTime(std::string_view text);

// The evidence that an event is about a hang.
enum class HangRule {
  kName,       // a name of an SDK that is known
  kMechanism,  // the words of its mechanism
  kType,       // those of its exception's type, with a stack that was observed from outside
  kOther,      // such a stack and a duration, in words that are not known
};
// "name", "mechanism", "type", "other".
std::string_view HangRuleName(HangRule rule);

struct Hang {
  const nlohmann::json* exception = nullptr;  // the event's, which says so
  policies::HangKind kind = policies::HangKind::kHang;
  policies::HangLevel level = policies::HangLevel::kHang;
  HangTime time = {};
  HangRule rule = HangRule::kName;
};

// By the exception's mechanism and type, as written by the SDKs of Cocoa ("App Hang Fully Blocked" …,
// MetricKit's "MXHangDiagnostic"), native ("AppHang"), Java on Android ("ApplicationNotResponding"),
// JavaScript outside of browsers (likewise, and "EventLoopBlocked") and Unity
// ("ApplicationNotRespondingException", "MainThreadWatchdog"), and by what HangRule says of others. Nothing
// when the event is about something else. Borrows from `event`.
std::optional<Hang> FindHang(const nlohmann::json& event);

// The first exception of an event, in words for the log: its type and its mechanism.
std::string DescribeEvent(const nlohmann::json& event);
// The kind of an event that is no hang: "crash", of an exception that was not handled; "observed", of a stack
// that an SDK looked at from outside, which may be a hang in words that are not known; "error", of any other
// exception; "message", without one.
std::string_view KindOfOtherEvent(const nlohmann::json& event);

// Appends a Report and, when the hang is over, a HangEnd to a batch under construction. `project` is the
// DSN's. Errors: kInvalid when the event has no time; kTooLarge when it does not fit a report.
base::Status AppendHang(const nlohmann::json& event, const Hang& hang, const base::Uuid& event_id,
                        std::string_view project, std::string* batch);

}  // namespace lagwatch::collector
