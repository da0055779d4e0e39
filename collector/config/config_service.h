// SPDX-License-Identifier: Apache-2.0
// Serves the operator's config file, signed for the client. The file is checked at each request: a changed
// one is used from then on, an invalid one is logged and changes nothing. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/config/config_file.h"
#include "collector/files/small_files.h"
#include "report/config/secret_key.h"

namespace lagwatch::collector {

struct SignedConfig {
  std::string etag;      // of the document, in quotes
  std::string envelope;  // report/config/signed_document.h; empty when the client has it
};

class ConfigService {
 public:
  static constexpr size_t kMostAskedUsers = 50;

  // `version_path` is a file that keeps the version, so that it never goes back; it need not be there yet.
  ConfigService(std::string config_path, std::string version_path, report::SigningKey key);

  // None without a config. `known_etag`: what the client has. Errors: kInternal when it cannot be signed.
  // A `network` learns of kMostAskedUsers a day whether they are on the allowlist: names cannot be tried
  // out. Of a proof it learns until it has tried kMostAskedUsers wrong ones that day. An empty one of all.
  base::Result<std::optional<SignedConfig>> Find(const ConfigClient& client, std::string_view known_etag,
                                                 int64_t now_wall_ms, const std::string& network = {});
  // As ConfigFile has them.
  bool HasVersion(const std::string& app, const std::string& version);
  std::optional<SourceTemplate> SourceOf(std::string_view app);
  std::optional<uint64_t> LeastUserRatePpm();
  // Replaces the file by a good content, which has that version. Errors: kIo.
  base::Status Adopt(const std::string& content, uint64_t version);
  // One more at each change of the file; 0 without a config.
  uint64_t CurrentVersion();

 private:
  // With mutex_ held.
  bool MayLearn(const ConfigClient& client, int64_t now_wall_ms, const std::string& network);
  // Whether `name` is one of the first of the day; it takes a place if `is_counted`.
  bool MayAsk(const std::string& name, bool is_counted, int64_t now_wall_ms, const std::string& network);
  void Refresh();
  void TakeOver(const std::string& content);

  const std::string config_path_;
  const std::string version_path_;
  const report::SigningKey key_;
  std::mutex mutex_;  // guards the following members
  std::optional<FileStamp> stamp_;
  std::optional<ConfigFile> file_;
  uint64_t version_ = 0;
  int64_t asked_day_ = 0;                                     // of the following ones
  std::map<std::string, std::vector<uint64_t>> asked_users_;  // hashes of names or proofs, by network
  int last_error_ = 0;  // of reading the file: logged once
};

}  // namespace lagwatch::collector
