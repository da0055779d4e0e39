// SPDX-License-Identifier: Apache-2.0
#include "report/config/config_store.h"

#include <utility>

namespace lagwatch::report {
namespace {

bool IsOlder(const RemoteConfig& a, const RemoteConfig& b) {
  return std::pair(a.version, a.expires_wall_ms) < std::pair(b.version, b.expires_wall_ms);
}

}  // namespace

ConfigStore::ConfigStore(base::Env* env, const std::string& spool_directory, const PublicKey& key,
                         ConfigAudience audience)
    : env_(env), spool_directory_(spool_directory), key_(key), audience_(std::move(audience)) {}

std::optional<RemoteConfig> ConfigStore::Current(int64_t now_wall_ms) {
  if (!std::exchange(is_read_, true)) newest_ = ReadKept();
  if (newest_ && newest_->IsExpired(now_wall_ms)) return std::nullopt;
  return newest_;
}

Status ConfigStore::Accept(std::string_view envelope, int64_t now_wall_ms) {
  auto config = LAGWATCH_TRY(Open(envelope));
  if (config.IsExpired(now_wall_ms)) return {StatusCode::kInvalid, "the remote config has expired"};
  const std::optional<RemoteConfig> kept = ReadKept();
  is_read_ = true;
  if (kept && (!newest_ || IsOlder(*newest_, *kept))) newest_ = kept;
  if (newest_ && IsOlder(config, *newest_))
    return {StatusCode::kInvalid, "the remote config is older than the newest so far"};
  const bool is_kept = kept && !IsOlder(*kept, config);
  newest_ = std::move(config);
  return is_kept ? Status() : Keep(envelope);
}

Result<RemoteConfig> ConfigStore::Open(std::string_view envelope) const {
  auto text = LAGWATCH_TRY(OpenSigned(envelope, key_));
  auto config = ParseRemoteConfig(text);
  if (!config.ok()) return config;
  if (config->app != audience_.app || config->user != audience_.user)
    return Status(StatusCode::kInvalid, "the remote config is for another program or user");
  return config;
}

std::optional<RemoteConfig> ConfigStore::ReadKept() const {
  std::string envelope;
  if (env_->ReadAll(spool_directory_ + "/" + ConfigFileName(audience_), &envelope) != 0) return std::nullopt;
  auto config = Open(envelope);
  return config.ok() ? std::optional(std::move(config).value()) : std::nullopt;
}

Status ConfigStore::Keep(std::string_view envelope) const {
  if (int error = env_->CreateDirectories(spool_directory_))
    return base::IoError("cannot create " + spool_directory_, error);
  const std::string path = spool_directory_ + "/" + ConfigFileName(audience_);
  const std::string new_path = path + std::string(kNewConfigSuffix);
  env_->Remove(new_path.c_str());  // a crash may have left one
  int fd = -1;
  int error = env_->CreateLocked(new_path.c_str(), &fd);
  if (error == 0) {
    error = env_->Append(fd, envelope.data(), envelope.size());
    env_->Close(fd);
    if (error == 0) error = env_->Rename(new_path.c_str(), path.c_str());
    if (error != 0) env_->Remove(new_path.c_str());
  }
  return error == 0 ? Status() : base::IoError("cannot keep the remote config in " + path, error);
}

}  // namespace lagwatch::report
