// SPDX-License-Identifier: Apache-2.0
// Recognizes hangs among the events of Sentry's SDKs. Context: background; pure.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "collector/sentry/hang_time.h"
#include "policies/hang.h"

namespace lagwatch::collector {

struct Hang {
  const nlohmann::json* exception = nullptr;  // the event's, which says so
  policies::HangKind kind = policies::HangKind::kHang;
  policies::HangLevel level = policies::HangLevel::kHang;
  HangTime time = {};
};

// By the exception's mechanism and type, as written by the SDKs of Cocoa ("App Hang Fully Blocked" …), native
// ("AppHang"), Java on Android ("ApplicationNotResponding") and JavaScript outside of browsers (likewise, and
// "EventLoopBlocked"). Nothing when the event is about something else. Borrows from `event`.
std::optional<Hang> FindHang(const nlohmann::json& event);

}  // namespace lagwatch::collector
