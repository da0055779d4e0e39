// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/hang.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "collector/sentry/json_fields.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

// That Android calls an app unresponsive after, at the earliest; its exit reasons do not say more.
constexpr int64_t kAndroidAnrNs = 5'000'000'000;

constexpr std::string_view kAnrMechanisms[] = {"ANR", "AppExitInfo", "HistoricalAppExitInfo"};
constexpr std::string_view kAnrTypes[] = {"ApplicationNotResponding", "EventLoopBlocked"};

bool IsAmong(std::string_view text, const auto& list) {
  return std::ranges::find(list, text) != std::end(list);
}

bool IsAppHang(std::string_view mechanism, std::string_view type) {
  return mechanism == "AppHang" || type == "AppHang" || type == "App Hanging" ||
         type.find("App Hang ") != std::string_view::npos;
}

// The exception's words say the most, an older SDK's mechanism at least something.
HangTime TimeOf(const json& event, const json& exception) {
  const json& mechanism = Child(exception, "mechanism");
  for (const std::string& text :
       {TextOf(exception, "value"), TextOf(Child(event, "message"), "formatted"), TextOf(event, "message"),
        TextOf(Child(mechanism, "data"), "app_hang_duration")}) {
    if (const auto time = FindHangTime(text)) return *time;
  }
  const bool is_exit = TextOf(mechanism, "type").ends_with("AppExitInfo");
  return {is_exit ? kAndroidAnrNs : 0};
}

}  // namespace

std::optional<Hang> FindHang(const json& event) {
  for (const json& exception : ValuesOf(event, "exception")) {
    const std::string mechanism = TextOf(Child(exception, "mechanism"), "type");
    const std::string type = TextOf(exception, "type");
    const bool is_anr = IsAmong(mechanism, kAnrMechanisms) || IsAmong(type, kAnrTypes);
    if (!is_anr && !IsAppHang(mechanism, type)) continue;
    const bool is_fatal = type.starts_with("Fatal App Hang");
    return Hang{.exception = &exception,
                .kind = is_fatal ? policies::HangKind::kKilledInHang : policies::HangKind::kHang,
                .level = is_anr || is_fatal ? policies::HangLevel::kAnr : policies::HangLevel::kHang,
                .time = TimeOf(event, exception)};
  }
  return std::nullopt;
}

}  // namespace lagwatch::collector
