// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/hang.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string>
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

// Small letters and digits alone: "mx_hang_diagnostic" and "MXHangDiagnostic" are the same word.
std::string Plain(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

// Words for a loop that did not respond, as names of mechanisms and types have them.
bool SaysHang(std::string_view name) {
  const std::string plain = Plain(name);
  if (plain == "anr") return true;
  for (const char* word :
       {"notrespond", "unrespons", "loopblock", "threadblock", "threadwatchdog", "appfreeze"}) {
    if (plain.find(word) != std::string::npos) return true;
  }
  for (size_t at = plain.find("hang"); at != std::string::npos; at = plain.find("hang", at + 1)) {
    if (at == 0 || plain[at - 1] != 'c') return true;  // no "change" or "exchange"
  }
  return false;
}

bool HasStack(const json& event, const json& exception) {
  const auto has_frames = [](const json& object) {
    return !ValuesOf(Child(object, "stacktrace"), "frames").empty();
  };
  return has_frames(exception) || std::ranges::any_of(ValuesOf(event, "threads"), has_frames);
}

// Made by an SDK that looked at a thread from outside, and not thrown by the program.
bool IsObserved(const json& exception) {
  const json& mechanism = Child(exception, "mechanism");
  const json& handled = Child(mechanism, "handled");
  const bool is_unhandled = handled.is_boolean() && !handled.get<bool>();
  return !is_unhandled &&
         (IsTrue(mechanism, "synthetic") || IsTrue(Child(exception, "stacktrace"), "snapshot"));
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

// The list of known names first; then the words of the mechanism, which SDKs choose; then those of the type.
// A type may be that of an error of the program: then the stack has to be one that was observed.
std::optional<HangRule> RuleOf(const json& event, const json& exception) {
  const std::string mechanism = TextOf(Child(exception, "mechanism"), "type");
  const std::string type = TextOf(exception, "type");
  if (IsAmong(mechanism, kAnrMechanisms) || IsAmong(type, kAnrTypes) || IsAppHang(mechanism, type))
    return HangRule::kName;
  if (!HasStack(event, exception)) return std::nullopt;
  if (SaysHang(mechanism)) return HangRule::kMechanism;
  if (!IsObserved(exception)) return std::nullopt;
  if (SaysHang(type)) return HangRule::kType;
  const bool has_time = FindHangTime(TextOf(exception, "value")).has_value();
  return has_time ? std::optional(HangRule::kOther) : std::nullopt;
}

}  // namespace

std::string_view HangRuleName(HangRule rule) {
  switch (rule) {
    case HangRule::kName:
      return "name";
    case HangRule::kMechanism:
      return "mechanism";
    case HangRule::kType:
      return "type";
    case HangRule::kOther:
      break;
  }
  return "other";
}

std::string DescribeEvent(const json& event) {
  for (const json& exception : ValuesOf(event, "exception")) {
    const std::string type = TextOf(exception, "type");
    const std::string mechanism = TextOf(Child(exception, "mechanism"), "type");
    if (type.empty() && mechanism.empty()) continue;
    return "exception '" + type + "', mechanism '" + mechanism + "'";
  }
  return "without an exception";
}

std::string_view KindOfOtherEvent(const json& event) {
  std::string_view kind = "message";
  for (const json& exception : ValuesOf(event, "exception")) {
    const json& handled = Child(Child(exception, "mechanism"), "handled");
    if (handled.is_boolean() && !handled.get<bool>()) return "crash";
    if (HasStack(event, exception) && IsObserved(exception)) return "observed";
    kind = "error";
  }
  return kind;
}

std::optional<Hang> FindHang(const json& event) {
  for (const json& exception : ValuesOf(event, "exception")) {
    const auto rule = RuleOf(event, exception);
    if (!rule) continue;
    const std::string mechanism = TextOf(Child(exception, "mechanism"), "type");
    const std::string type = TextOf(exception, "type");
    const bool is_anr = IsAmong(mechanism, kAnrMechanisms) || IsAmong(type, kAnrTypes) ||
                        Plain(type).find("notrespond") != std::string::npos;
    const bool is_fatal = type.starts_with("Fatal App Hang");
    return Hang{.exception = &exception,
                .kind = is_fatal ? policies::HangKind::kKilledInHang : policies::HangKind::kHang,
                .level = is_anr || is_fatal ? policies::HangLevel::kAnr : policies::HangLevel::kHang,
                .time = TimeOf(event, exception),
                .rule = *rule};
  }
  return std::nullopt;
}

}  // namespace lagwatch::collector
