// SPDX-License-Identifier: Apache-2.0
// The last good remote config of a program, kept in its spool directory. The file is the collector's own
// envelope, so it is verified again whenever it is read: only the collector can change the values in force,
// and a file that a crash left half written is ignored. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/process/env.h"
#include "base/status.h"
#include "report/config/config_file_name.h"
#include "report/config/remote_config.h"
#include "report/config/signed_document.h"

namespace lagwatch::report {

// Not thread-safe; several processes may use one directory.
class ConfigStore {
 public:
  // `env` is borrowed.
  ConfigStore(base::Env* env, const std::string& spool_directory, const PublicKey& key,
              ConfigAudience audience);

  // The config in force; none without one, or if it has expired.
  std::optional<RemoteConfig> Current(int64_t now_wall_ms);
  // Takes over a document that is signed, for this audience, not expired and not older than the newest so
  // far, by version and then by expiry: one that has expired, or that another process has kept, counts there,
  // too. Else the config in force stays. Errors: kInvalid, kUnauthorized; kIo if it could not be stored: then
  // it is in force until the process ends.
  base::Status Accept(std::string_view envelope, int64_t now_wall_ms);

 private:
  base::Result<RemoteConfig> Open(std::string_view envelope) const;
  // None where there is no good one.
  std::optional<RemoteConfig> ReadKept() const;
  base::Status Keep(std::string_view envelope) const;

  base::Env* env_;
  std::string spool_directory_;
  PublicKey key_;
  ConfigAudience audience_;
  bool is_read_ = false;
  std::optional<RemoteConfig> newest_;  // expired or not: an older one never takes its place
};

}  // namespace lagwatch::report
