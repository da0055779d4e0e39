// SPDX-License-Identifier: Apache-2.0
#include "collector/admin/config_admin.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/env.h"
#include "collector/admin/refusals.h"
#include "collector/config/config_file.h"
#include "collector/files/small_files.h"
#include "collector/query/query_string.h"
#include "report/config/remote_config.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kSuffix = ".json";

Result<Json> ParseBody(std::string_view body) {
  Json json = ParseJson(body);
  if (!json.is_object()) return Unfitting("the body is no JSON object");
  return json;
}

// Of a config that was checked: it has few keys, whose order is the operator's.
Result<Json> ParseConfig(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!json.is_object()) return Unfitting("the body is no JSON object");
  return json;
}

std::optional<uint64_t> VersionOf(std::string_view file_name) {
  uint64_t version = 0;
  if (!file_name.ends_with(kSuffix)) return std::nullopt;
  file_name.remove_suffix(kSuffix.size());
  const auto [end, error] = std::from_chars(file_name.data(), file_name.data() + file_name.size(), version);
  const bool is_number = error == std::errc() && end == file_name.data() + file_name.size();
  return is_number ? std::optional(version) : std::nullopt;
}

std::string TextOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

Json SettingsJson() {
  Json settings = Json::array();
  for (const report::NumberKey& key : report::NumberKeys())
    settings.push_back({{"name", key.name}, {"least", key.least}, {"most", key.most}});
  return settings;
}

Status NoSuchVersion() {
  return {StatusCode::kNotFound, "there is no such version of the config; GET /v1/admin/config lists them"};
}

std::string EtagOfVersion(uint64_t version) { return '"' + std::to_string(version) + '"'; }

Response VersionResponse(uint64_t version) {
  return {.status = 200, .body = JsonText({{"version", version}}), .etag = EtagOfVersion(version)};
}

// The file's config without `user` on its allowlist, also not as a comment; nothing if it is not there.
Result<std::optional<std::string>> ContentWithoutUser(const std::string& path, const std::string& user) {
  std::string text;
  const int error = base::SystemEnv().ReadAll(path, &text);
  if (error == ENOENT) return std::optional<std::string>();
  if (error != 0) return base::IoError("cannot read " + path, error);
  Json config = Json::parse(text, nullptr, /*allow_exceptions=*/false, /*ignore_comments=*/true);
  if (!config.is_object()) return std::optional<std::string>();
  Json& allowlist = config["allowlist"];
  const auto found = allowlist.is_array() ? std::ranges::find(allowlist, Json(user)) : allowlist.end();
  if (found == allowlist.end()) return std::optional<std::string>();
  allowlist.erase(std::remove(allowlist.begin(), allowlist.end(), Json(user)), allowlist.end());
  return std::optional(config.dump(2) + "\n");
}

// The time of a version's file is the version's.
Status ReplaceKeepingTime(const std::string& path, const std::string& content) {
  const FileStamp before = FileStamp::Of(path);
  if (Status replaced = ReplaceFile(path, content); !replaced.ok()) return replaced;
  const timespec time{.tv_sec = before.mtime_ns / base::kNsPerSecond,
                      .tv_nsec = before.mtime_ns % base::kNsPerSecond};
  const timespec times[] = {time, time};
  if (utimensat(AT_FDCWD, path.c_str(), times, 0) == 0) return {};
  return base::IoError("cannot set the time of " + path, errno);
}

}  // namespace

ConfigAdmin::ConfigAdmin(std::string config_path, std::string history_directory, ConfigService* service,
                         AuditLog* audit)
    : config_path_(std::move(config_path)),
      history_directory_(std::move(history_directory)),
      service_(service),
      audit_(audit) {}

std::string ConfigAdmin::HistoryPath(uint64_t version) const {
  return history_directory_ + "/" + std::to_string(version) + std::string(kSuffix);
}

Result<Json> ConfigAdmin::Read() const {
  std::string text;
  const int error = base::SystemEnv().ReadAll(config_path_, &text);
  if (error == ENOENT) return Json();
  if (error != 0) return base::IoError("cannot read " + config_path_, error);
  auto json = ParseConfig(text);
  if (!json.ok())
    return Status(StatusCode::kInternal, "the config " + config_path_ + " is no JSON object: put a good one");
  return json;
}

Result<Response> ConfigAdmin::Get() const {
  std::lock_guard lock(mutex_);
  auto config = LAGWATCH_TRY(Read());
  std::vector<std::string> names;
  base::SystemEnv().List(history_directory_, &names);
  std::vector<std::pair<uint64_t, int64_t>> versions;
  for (const std::string& name : names) {
    const auto version = VersionOf(name);
    if (!version) continue;
    const FileStamp stamp = FileStamp::Of(HistoryPath(*version));
    versions.emplace_back(*version, stamp.mtime_ns / 1'000'000);
  }
  std::ranges::sort(versions, std::greater());
  Json history = Json::array();
  for (const auto& [version, wall_ms] : versions)
    history.push_back({{"version", version}, {"wall_ms", wall_ms}});
  const uint64_t version = service_->CurrentVersion();
  return Response{.status = 200,
                  .body = JsonText({{"version", version},
                                    {"config", std::move(config)},
                                    {"history", std::move(history)},
                                    {"settings", SettingsJson()}}),
                  .etag = EtagOfVersion(version)};
}

Result<Response> ConfigAdmin::GetVersion(std::string_view version) const {
  const auto number = VersionOf(std::string(version) + std::string(kSuffix));
  std::string content;
  if (!number || base::SystemEnv().ReadAll(HistoryPath(*number), &content) != 0) return NoSuchVersion();
  auto config = LAGWATCH_TRY(ParseConfig(content));
  return Response{200, JsonText({{"version", *number}, {"config", std::move(config)}})};
}

// A version that was edited by hand is kept at the first change after it.
Status ConfigAdmin::KeepVersion() {
  const uint64_t version = service_->CurrentVersion();
  std::string content;
  if (version == 0 || base::SystemEnv().ReadAll(config_path_, &content) != 0) return {};
  if (base::SystemEnv().Exists(HistoryPath(version).c_str())) return {};
  if (int error = base::SystemEnv().CreateDirectories(history_directory_))
    return base::IoError("cannot create " + history_directory_, error);
  return ReplaceFile(HistoryPath(version), content);
}

Status ConfigAdmin::Replace(const std::string& content) {
  auto file = LAGWATCH_TRY(ConfigFile::Parse(content));
  if (Status kept = KeepVersion(); !kept.ok()) return kept;
  if (Status written = ReplaceFile(config_path_, content); !written.ok()) return written;
  return KeepVersion();
}

Result<Response> ConfigAdmin::Put(std::string_view body, std::string_view query_text, std::string_view by,
                                  std::string_view if_match) {
  auto query = LAGWATCH_TRY(QueryString::Parse(query_text));
  std::lock_guard lock(mutex_);
  const std::string known = query.Get("if_version");
  const uint64_t version = service_->CurrentVersion();
  if (!known.empty() && known != std::to_string(version)) {
    return ErrorResponse(409, "conflict",
                         "the config is of version " + std::to_string(version) + " by now; look at it again");
  }
  if (!IfMatchHolds(if_match, EtagOfVersion(version))) return PreconditionFailed(EtagOfVersion(version));
  if (Status replaced = Replace(std::string(body)); !replaced.ok()) return replaced;
  audit_->Add(by, "config.put", std::to_string(service_->CurrentVersion()), {{"before", version}});
  return VersionResponse(service_->CurrentVersion());
}

Result<Response> ConfigAdmin::Rollback(std::string_view body, std::string_view by,
                                       std::string_view if_match) {
  auto json = LAGWATCH_TRY(ParseBody(body));
  const Json wanted = json.value("version", Json());
  if (!wanted.is_number_unsigned()) return Unfitting(R"("version" is no version of the config's history)");
  std::lock_guard lock(mutex_);
  if (const std::string etag = EtagOfVersion(service_->CurrentVersion()); !IfMatchHolds(if_match, etag))
    return PreconditionFailed(etag);
  std::string content;
  if (base::SystemEnv().ReadAll(HistoryPath(wanted.get<uint64_t>()), &content) != 0) return NoSuchVersion();
  if (Status replaced = Replace(content); !replaced.ok()) return replaced;
  audit_->Add(by, "config.rollback", std::to_string(service_->CurrentVersion()), {{"to", wanted}});
  return VersionResponse(service_->CurrentVersion());
}

Result<Response> ConfigAdmin::Change(const Edit& edit, std::string_view action, std::string_view subject,
                                     std::string_view by, std::string_view if_match) {
  std::lock_guard lock(mutex_);
  if (const std::string etag = EtagOfVersion(service_->CurrentVersion()); !IfMatchHolds(if_match, etag))
    return PreconditionFailed(etag);
  auto config = LAGWATCH_TRY(Read());
  if (config.is_null()) config = Json::object();
  const Json before = config;
  if (Status edited = edit(&config); !edited.ok()) return edited;
  if (config == before) return VersionResponse(service_->CurrentVersion());
  if (Status replaced = Replace(config.dump(2) + "\n"); !replaced.ok()) return replaced;
  audit_->Add(by, action, subject, {{"version", service_->CurrentVersion()}});
  return VersionResponse(service_->CurrentVersion());
}

Result<Response> ConfigAdmin::PutAllowlist(std::string_view body, std::string_view by,
                                           std::string_view if_match) {
  auto json = LAGWATCH_TRY(ParseBody(body));
  const std::string user = TextOf(json, "user");
  const Json is_forced = json.value("is_forced", Json(true));
  if (user.empty() || !is_forced.is_boolean())
    return Unfitting(R"(the body must be {"user": TEXT, "is_forced": true or false})");
  auto edit = [&](Json* config) -> Status {
    Json& allowlist = (*config)["allowlist"];
    if (allowlist.is_null()) allowlist = Json::array();
    if (!allowlist.is_array()) return Unfitting(R"("allowlist" of the config is no array)");
    const auto found = std::ranges::find(allowlist, Json(user));
    if (is_forced.get<bool>() && found == allowlist.end()) allowlist.push_back(user);
    if (!is_forced.get<bool>() && found != allowlist.end()) allowlist.erase(found);
    return {};
  };
  return Change(edit, is_forced.get<bool>() ? "allowlist.add" : "allowlist.remove", SubjectDigest(user), by,
                if_match);
}

Status ConfigAdmin::Exchange(const std::function<Result<Exchanged>(const Exchanged& here)>& change) {
  std::lock_guard lock(mutex_);
  const uint64_t version = service_->CurrentVersion();
  std::string content;
  const int error = base::SystemEnv().ReadAll(config_path_, &content);
  if (error != 0 && error != ENOENT) return base::IoError("cannot read " + config_path_, error);
  if (error == 0 && !ConfigFile::Parse(content).ok()) return {};  // the service has logged why
  Exchanged here;
  if (error == 0) here = VersionedConfig{version, content};
  const auto wanted = LAGWATCH_TRY(change(here));
  if (wanted == here) return {};
  if (Status kept = KeepVersion(); !kept.ok()) return kept;
  if (!wanted) {
    if (const int failed = base::SystemEnv().Remove(config_path_.c_str()); failed != 0 && failed != ENOENT)
      return base::IoError("cannot remove " + config_path_, failed);
    audit_->Add("another collector", "config.remove", "", {{"before", version}});
    return {};
  }
  const auto file = LAGWATCH_TRY(ConfigFile::Parse(wanted->content));
  if (Status adopted = service_->Adopt(wanted->content, std::max(wanted->version, version + 1));
      !adopted.ok())
    return adopted;
  if (Status kept = KeepVersion(); !kept.ok()) return kept;
  audit_->Add("another collector", "config.put", std::to_string(service_->CurrentVersion()),
              {{"before", version}});
  return {};
}

Status ConfigAdmin::EraseUser(const std::string& user, std::string_view by) {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  base::SystemEnv().List(history_directory_, &names);
  for (const std::string& name : names) {
    const std::string path = history_directory_ + "/" + name;
    const auto without = LAGWATCH_TRY(ContentWithoutUser(path, user));
    if (!without) continue;
    if (Status replaced = ReplaceKeepingTime(path, *without); !replaced.ok()) return replaced;
  }
  const auto without = LAGWATCH_TRY(ContentWithoutUser(config_path_, user));
  if (!without) return {};
  if (Status replaced = ReplaceFile(config_path_, *without); !replaced.ok()) return replaced;
  if (Status kept = KeepVersion(); !kept.ok()) return kept;
  audit_->Add(by, "allowlist.remove", SubjectDigest(user), {{"version", service_->CurrentVersion()}});
  return {};
}

const ConfigAdmin::RequestList ConfigAdmin::kCaptures{
    "capture_requests", "cluster", "capture", {"cluster", "app_version"}};
const ConfigAdmin::RequestList ConfigAdmin::kProbes{
    "probe_requests", "script", "probe", {"script", "app", "app_version"}};

Result<Response> ConfigAdmin::AddRequest(const RequestList& list, std::string_view body, std::string_view by,
                                         std::string_view if_match) {
  auto json = LAGWATCH_TRY(ParseBody(body));
  auto edit = [&](Json* config) -> Status {
    Json& requests = (*config)[list.name];
    if (requests.is_null()) requests = Json::array();
    if (!requests.is_array())
      return Unfitting('"' + std::string(list.name) + R"(" of the config is no array)");
    const auto same = std::ranges::find_if(requests, [&](const Json& request) {
      return std::ranges::all_of(list.same,
                                 [&](const char* key) { return TextOf(request, key) == TextOf(json, key); });
    });
    if (same != requests.end()) requests.erase(same);
    requests.push_back(json);
    return {};  // what is wrong with it, the config's parser says
  };
  return Change(edit, std::string(list.action) + ".add", TextOf(json, list.key), by, if_match);
}

Result<Response> ConfigAdmin::RemoveRequest(const RequestList& list, std::string_view subject,
                                            std::string_view by, std::string_view if_match) {
  auto edit = [&](Json* config) -> Status {
    Json kept = Json::array();
    const Json requests = config->value(list.name, Json::array());
    for (const Json& request : requests) {
      if (TextOf(request, list.key) != subject) kept.push_back(request);
    }
    if (kept.size() == requests.size())
      return {StatusCode::kNotFound,
              "no " + std::string(list.action) + " of that " + list.key + " is requested"};
    (*config)[list.name] = std::move(kept);
    return {};
  };
  return Change(edit, std::string(list.action) + ".remove", subject, by, if_match);
}

Result<Response> ConfigAdmin::AddCaptureRequest(std::string_view body, std::string_view by,
                                                std::string_view if_match) {
  return AddRequest(kCaptures, body, by, if_match);
}

Result<Response> ConfigAdmin::RemoveCaptureRequest(std::string_view cluster, std::string_view by,
                                                   std::string_view if_match) {
  return RemoveRequest(kCaptures, cluster, by, if_match);
}

Result<Response> ConfigAdmin::AddProbeRequest(std::string_view body, std::string_view by,
                                              std::string_view if_match) {
  return AddRequest(kProbes, body, by, if_match);
}

Result<Response> ConfigAdmin::RemoveProbeRequest(std::string_view script, std::string_view by,
                                                 std::string_view if_match) {
  return RemoveRequest(kProbes, script, by, if_match);
}

}  // namespace lagwatch::collector
