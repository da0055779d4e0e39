// SPDX-License-Identifier: Apache-2.0
#include "collector/config/config_service.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/hash.h"
#include "base/process/env.h"
#include "base/text.h"
#include "collector/files/small_files.h"

namespace lagwatch::collector {
namespace {

// So that the document, and with it the ETag, stays the same for a while: the expiry is put off four times in
// its own length.
int64_t ExpiryOf(int64_t now_wall_ms, int64_t expires_after_ms) {
  const int64_t step_ms = expires_after_ms / 4;
  return now_wall_ms - now_wall_ms % step_ms + expires_after_ms;
}

// The version that a content had, as it is kept on disk: "VERSION HASH", and the same of the content that it
// replaces, until that is done.
struct KeptVersion {
  uint64_t version = 0;
  std::string content_hash = {};
};
struct KeptVersions {
  KeptVersion now;
  KeptVersion before = {};
};

KeptVersions ReadVersions(const std::string& path) {
  std::string text;
  char hash[17] = "";
  char hash_before[17] = "";
  unsigned long long version = 0;
  unsigned long long version_before = 0;
  if (base::SystemEnv().ReadAll(path, &text) != 0) return {};
  const int fields =
      std::sscanf(text.c_str(), "%llu %16s %llu %16s", &version, hash, &version_before, hash_before);
  if (fields < 2) return {};
  return {.now = {version, hash},
          .before = fields == 4 ? KeptVersion{version_before, hash_before} : KeptVersion{}};
}

Status WriteVersions(const std::string& path, const KeptVersions& kept) {
  const auto line = [](const KeptVersion& each) {
    return std::to_string(each.version) + " " + each.content_hash + "\n";
  };
  return ReplaceFile(path, line(kept.now) + (kept.before.content_hash.empty() ? "" : line(kept.before)));
}

}  // namespace

ConfigService::ConfigService(std::string config_path, std::string version_path, report::SigningKey key)
    : config_path_(std::move(config_path)), version_path_(std::move(version_path)), key_(key) {
  std::lock_guard lock(mutex_);
  Refresh();
}

Result<std::optional<SignedConfig>> ConfigService::Find(const ConfigClient& client,
                                                        std::string_view known_etag, int64_t now_wall_ms,
                                                        const std::string& network) {
  std::string text;
  {
    std::lock_guard lock(mutex_);
    Refresh();
    if (!file_) return std::optional<SignedConfig>();
    Json document = file_->DocumentFor(client);
    if (!network.empty() && !MayLearn(client, now_wall_ms, network)) document.erase("is_forced");
    document["version"] = version_;
    document["expires_wall_ms"] = ExpiryOf(now_wall_ms, file_->expires_after_ms());
    text = JsonText(document);
  }
  SignedConfig config{.etag = '"' + base::ToHex(base::HashBytes(text)) + '"', .envelope = {}};
  if (config.etag == known_etag) return std::optional(std::move(config));
  config.envelope = LAGWATCH_TRY(key_.Seal(text));
  return std::optional(std::move(config));
}

bool ConfigService::MayLearn(const ConfigClient& client, int64_t now_wall_ms, const std::string& network) {
  const bool is_proved = file_->IsProved(client);
  const bool may_prove =
      client.user_proof.empty() || MayAsk(client.user_proof, !is_proved, now_wall_ms, network + "/proofs");
  return is_proved ? may_prove : client.user.empty() || MayAsk(client.user, true, now_wall_ms, network);
}

// The first ones of the day: those are a network's own users more likely than guesses.
bool ConfigService::MayAsk(const std::string& name, bool is_counted, int64_t now_wall_ms,
                           const std::string& network) {
  constexpr size_t kMostNetworks = 20'000;
  constexpr int64_t kDayMs = 86'400'000;
  if (now_wall_ms / kDayMs != asked_day_ || asked_users_.size() >= kMostNetworks) asked_users_.clear();
  asked_day_ = now_wall_ms / kDayMs;
  std::vector<uint64_t>& users = asked_users_[network];
  const uint64_t user = base::HashBytes(name);
  if (std::ranges::count(users, user) > 0) return true;
  if (users.size() >= kMostAskedUsers) return false;
  if (is_counted) users.push_back(user);
  return true;
}

bool ConfigService::HasVersion(const std::string& app, const std::string& version) {
  std::lock_guard lock(mutex_);
  Refresh();
  return file_ && file_->HasVersion(app, version);
}

std::optional<SourceTemplate> ConfigService::SourceOf(std::string_view app) {
  std::lock_guard lock(mutex_);
  Refresh();
  return file_ ? file_->SourceOf(app) : std::nullopt;
}

std::optional<uint64_t> ConfigService::LeastUserRatePpm() {
  std::lock_guard lock(mutex_);
  Refresh();
  return file_ ? file_->LeastUserRatePpm() : std::nullopt;
}

uint64_t ConfigService::CurrentVersion() {
  std::lock_guard lock(mutex_);
  Refresh();
  return file_ ? version_ : 0;
}

// The version is on disk first, beside that of the present content: whichever of both contents is there after
// an error or a crash, it keeps its own.
Status ConfigService::Adopt(const std::string& content, uint64_t version) {
  std::lock_guard lock(mutex_);
  const std::string hash = base::ToHex(base::HashBytes(content));
  const KeptVersions kept = ReadVersions(version_path_);
  // One that is there is of an attempt that failed.
  const KeptVersion before = kept.before.content_hash.empty() ? kept.now : kept.before;
  if (Status written = WriteVersions(version_path_, {.now = {version, hash}, .before = before});
      !written.ok())
    return written;
  if (Status replaced = ReplaceFile(config_path_, content); !replaced.ok()) return replaced;
  stamp_.reset();  // the same content with another version
  Refresh();
  return {};
}

void ConfigService::Refresh() {
  const FileStamp stamp = FileStamp::Of(config_path_);
  if (stamp_ == stamp) return;
  stamp_ = stamp;
  std::string content;
  const int error = base::SystemEnv().ReadAll(config_path_, &content);
  const bool is_news = std::exchange(last_error_, error) != error;
  if (error == 0) return TakeOver(content);
  if (error != ENOENT) {
    stamp_.reset();  // what puts it right, such as a chmod, may leave the stamp as it is
    if (is_news) {
      spdlog::error("cannot read the config {}, the previous one stays in force: {}", config_path_,
                    base::IoError("", error).message());
    }
  }
  if (error == ENOENT && file_) {
    spdlog::warn("the config {} was removed: clients keep their values", config_path_);
    file_.reset();
  }
}

void ConfigService::TakeOver(const std::string& content) {
  auto file = ConfigFile::Parse(content);
  if (!file.ok()) {
    spdlog::error("the config {} is invalid, the previous one stays in force: {}", config_path_,
                  file.status().message());
    return;
  }
  file_ = std::move(file).value();
  const KeptVersions kept = ReadVersions(version_path_);
  KeptVersion now = kept.now;
  const std::string content_hash = base::ToHex(base::HashBytes(content));
  if (now.content_hash != content_hash && kept.before.content_hash == content_hash) now = kept.before;
  if (now.content_hash != content_hash) {
    // No lower than the time: clients take it even when the file with the version was lost.
    now = {std::max<uint64_t>(std::max(now.version, version_) + 1, static_cast<uint64_t>(std::time(nullptr))),
           content_hash};
  }
  if (now.version != kept.now.version || now.content_hash != kept.now.content_hash ||
      !kept.before.content_hash.empty()) {
    if (Status written = WriteVersions(version_path_, {.now = now}); !written.ok())
      spdlog::error("cannot store the config's version: {}", written.message());
  }
  version_ = now.version;
  spdlog::info("serving the config {}, version {}", config_path_, version_);
}

}  // namespace lagwatch::collector
