// SPDX-License-Identifier: Apache-2.0
// Hands out the operator's config file, signed for who asks. The file is looked at whenever somebody does: a
// changed one holds from then on, a bad one is logged and changes nothing. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "collector/config/config_file.h"
#include "report/config/signing_key.h"

namespace lagwatch::collector {

struct SignedConfig {
  std::string etag;      // of the document, in quotes
  std::string envelope;  // report/config/signed_document.h; empty when the client has it
};

class ConfigService {
 public:
  // `version_path` is a file that keeps the version, so that it never goes back; it need not be there yet.
  ConfigService(std::string config_path, std::string version_path, report::SigningKey key);

  // None without a config. `known_etag`: what the client has. Errors: kInternal when it cannot be signed.
  base::Result<std::optional<SignedConfig>> Find(const ConfigClient& client, std::string_view known_etag,
                                                 int64_t now_wall_ms);
  // One more at each change of the file; 0 without a config.
  uint64_t CurrentVersion();

 private:
  // Tells one state of the file from another.
  struct FileStamp {
    int64_t mtime_ns = 0;
    int64_t size_bytes = -1;
    uint64_t inode = 0;
    bool operator==(const FileStamp&) const = default;
  };

  FileStamp StampOf() const;
  void Refresh();
  void TakeOver(const std::string& content);

  const std::string config_path_;
  const std::string version_path_;
  const report::SigningKey key_;
  std::mutex mutex_;  // guards what follows
  std::optional<FileStamp> stamp_;
  std::optional<ConfigFile> file_;
  uint64_t version_ = 0;
};

// The key in the file `path`; when there is no such file, it is created (mode 0600) with a new one.
// Errors: kIo, kInvalid when the file holds no key.
base::Result<report::SigningKey> LoadOrCreateSigningKey(const std::string& path);

}  // namespace lagwatch::collector
