// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "report/sentry/dsn.h"
#include "tools/doctor/checkup.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

constexpr char kGroupTitle[] = "Reports go to";
constexpr char kEndpoint[] = "endpoint";
constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kSentryScheme = "sentry:";

struct KeyAnswer {
  std::string access;  // "project", "read" or "admin"; empty: the key is refused
  std::string date;
};

// The collector's word on one of its keys. Errors: kUnavailable without an answer, kInternal if no collector
// has answered.
base::Result<KeyAnswer> AskAboutKey(Endpoint endpoint, const std::string& key) {
  constexpr long kPatienceS = 10;
  const std::string url = endpoint.url;
  endpoint.token = key;
  const EndpointReply reply =
      LAGWATCH_TRY(EndpointClient(std::move(endpoint)).Ask({.target = "/v1/key", .timeout_s = kPatienceS}));
  const auto json = ReadAnswer(reply.http_status, reply.body);
  if (json.status().code() == base::StatusCode::kUnauthorized)
    return KeyAnswer{.access = {}, .date = reply.date};
  if (!json.ok()) return json.status();
  const Json access = json->is_object() ? json->value("access", Json()) : Json();
  if (!access.is_string())
    return base::Status(base::StatusCode::kInternal,
                        "what answers at " + url + " is no collector of lagwatch's");
  return KeyAnswer{.access = access.get<std::string>(), .date = reply.date};
}

Check CheckKey(const KeyAnswer& answer, const std::string& key) {
  constexpr char kRemedy[] = "export LAGWATCH_KEY=$(cat DATA/key)";
  if (key.empty())
    return Check::No("key", "none is set, and the collector takes no reports without", kRemedy);
  if (answer.access.empty()) return Check::No("key", "the collector refuses it", kRemedy);
  if (answer.access == "read") return Check::No("key", "is one for reading, which sends nothing", kRemedy);
  return Check::Ok("key", "accepted: it may send reports");
}

Check CheckToken(const Endpoint& endpoint) {
  constexpr char kRemedy[] = "export LAGWATCH_TOKEN=$(cat DATA/admin-token)";
  if (endpoint.token.empty())
    return Check::Ok("token", "none is set: reports are sent, and not read from the collector here");
  const auto answer = AskAboutKey(endpoint, endpoint.token);
  if (!answer.ok()) return Check::No("token", answer.status().message());
  if (answer->access.empty()) return Check::No("token", "the collector refuses it", kRemedy);
  if (answer->access == "project")
    return Check::No("token", "is a project's key, which reads nothing", kRemedy);
  return Check::Ok("token", "accepted: it may read reports");
}

std::string ClockText(int64_t ahead_s) {
  const std::string by = ShortDuration(static_cast<double>(std::abs(ahead_s)) * 1000);
  return "this machine's clock is " + by + (ahead_s > 0 ? " ahead of" : " behind") + " the collector's";
}

// To a second: the header has no finer time.
Check CheckClock(const std::string& date, int64_t asked_ms, int64_t answered_ms) {
  constexpr char kRemedy[] = "sudo timedatectl set-ntp true";
  constexpr int64_t kToleratedS = 60;
  constexpr int64_t kRefusedS = 86'400;
  const int64_t theirs_s = date.empty() ? -1 : curl_getdate(date.c_str(), nullptr);
  if (theirs_s < 0) return Check::Ok("clock", "the server says no time to compare with");
  const int64_t from_s = asked_ms / 1000 - theirs_s;
  const int64_t to_s = answered_ms / 1000 - theirs_s;
  const int64_t ahead_s = from_s <= 1 && to_s >= -1 ? 0 : std::abs(from_s) < std::abs(to_s) ? from_s : to_s;
  if (ahead_s > kRefusedS)
    return Check::No("clock", ClockText(ahead_s) + ", which refuses reports of more than a day ahead",
                     kRemedy);
  if (std::abs(ahead_s) > kToleratedS)
    return Check::Limited("clock", ClockText(ahead_s) + ": times of reports are wrong by that", kRemedy);
  return Check::Ok("clock", ahead_s == 0 ? "as the collector's" : ClockText(ahead_s));
}

CheckGroup CheckHttp(const Endpoint& endpoint, const std::string& key) {
  const int64_t asked_ms = base::SystemClock().WallMs();
  const auto answer = AskAboutKey(endpoint, key);
  const int64_t answered_ms = base::SystemClock().WallMs();
  if (!answer.ok()) return {kGroupTitle, {Check::No(kEndpoint, answer.status().message())}};
  const std::string taken = ShortDuration(static_cast<double>(answered_ms - asked_ms));
  return {kGroupTitle,
          {Check::Ok(kEndpoint, endpoint.url + " answers (" + taken + ")"), CheckKey(*answer, key),
           CheckToken(endpoint), CheckClock(answer->date, asked_ms, answered_ms)}};
}

Check CheckDirectory(const std::string& directory) {
  if (access(directory.c_str(), W_OK | X_OK) == 0) return Check::Ok(kEndpoint, "the directory " + directory);
  return Check::No(kEndpoint, "cannot write to the directory " + directory + ": " + std::strerror(errno),
                   "mkdir -p " + directory);
}

}  // namespace

CheckGroup CheckCollector(const Endpoint& endpoint, const std::string& key) {
  const std::string_view url = endpoint.url;
  if (url.empty())
    return {kGroupTitle, {Check::Ok(kEndpoint, "none is set: reports stay in the spool directory")}};
  if (url.starts_with(kFileScheme))
    return {kGroupTitle, {CheckDirectory(std::string(url.substr(kFileScheme.size())))}};
  if (url.starts_with(kSentryScheme)) {
    const auto dsn = report::ParseSentryDsn(url.substr(kSentryScheme.size()));
    return {
        kGroupTitle,
        {dsn.ok() ? Check::Ok(kEndpoint, "a project of Sentry's at " + dsn->endpoint + ", which is not asked")
                  : Check::No(kEndpoint, dsn.status().message())}};
  }
  return CheckHttp(endpoint, key);
}

}  // namespace lagwatch::tools
