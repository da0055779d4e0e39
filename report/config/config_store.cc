// SPDX-License-Identifier: Apache-2.0
#include "report/config/config_store.h"

#include <utility>

namespace lagwatch::report {
namespace {

using base::Result;
using base::Status;
using base::StatusCode;

bool IsOlder(const RemoteConfig& a, const RemoteConfig& b) {
  return std::pair(a.version, a.expires_wall_ms) < std::pair(b.version, b.expires_wall_ms);
}

}  // namespace

ConfigStore::ConfigStore(base::Env* env, const std::string& spool_directory, const PublicKey& key,
                         ConfigAudience audience)
    : env_(env), spool_directory_(spool_directory), key_(key), audience_(std::move(audience)) {}

std::optional<RemoteConfig> ConfigStore::Current(int64_t now_wall_ms) {
  if (!is_read_) {
    is_read_ = true;
    std::string envelope;
    if (env_->ReadAll(spool_directory_ + "/" + ConfigFileName(audience_), &envelope) == 0) {
      if (auto config = Open(envelope, now_wall_ms); config.ok()) config_ = std::move(config).value();
    }
  }
  if (config_ && config_->IsExpired(now_wall_ms)) return std::nullopt;
  return config_;
}

Status ConfigStore::Accept(std::string_view envelope, int64_t now_wall_ms) {
  const std::optional<RemoteConfig> current = Current(now_wall_ms);
  auto config = Open(envelope, now_wall_ms);
  if (!config.ok()) return config.status();
  if (current && IsOlder(*config, *current))
    return {StatusCode::kInvalid, "the remote config is older than the one in force"};
  const bool is_news = !current || IsOlder(*current, *config);
  config_ = std::move(config).value();
  return is_news ? Keep(envelope) : Status();
}

Result<RemoteConfig> ConfigStore::Open(std::string_view envelope, int64_t now_wall_ms) const {
  auto text = OpenSigned(envelope, key_);
  if (!text.ok()) return text.status();
  auto config = ParseRemoteConfig(*text);
  if (!config.ok()) return config;
  if (config->app != audience_.app || config->user != audience_.user)
    return Status(StatusCode::kInvalid, "the remote config is for another program or user");
  if (config->IsExpired(now_wall_ms)) return Status(StatusCode::kInvalid, "the remote config has expired");
  return config;
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
