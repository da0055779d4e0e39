// SPDX-License-Identifier: Apache-2.0
// Schedules requests of the remote config: at the start, every 6 hours, and when an upload's answer names
// another version; after a failure later and later. Context: background; not thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "policies/upload/upload_backoff.h"
#include "report/config/config_store.h"

namespace lagwatch::report {

struct ConfigAnswer {
  enum class AnswerKind {
    kDocument,
    kNotModified,  // it is the one with the ETag that was sent along
    kNone,         // the collector has no config; the one in force stays until it expires
    kFailed,
  };
  AnswerKind kind = AnswerKind::kFailed;
  std::string envelope{};     // of kDocument, as are the next
  std::string etag{};         // may be empty
  int64_t retry_after_s = 0;  // of kFailed; 0 if it is not given
};

// The source of the config.
class ConfigSource {
 public:
  virtual ~ConfigSource() = default;
  // Asks, and waits for the answer. `etag` may be empty. One thread at a time.
  virtual ConfigAnswer Fetch(const std::string& etag) = 0;
  // Makes a Fetch under way, and all later ones, fail soon. From any thread.
  virtual void Abort() = 0;
};

class ConfigFetcher {
 public:
  static constexpr int64_t kPeriodMs = 6 * 3600 * int64_t{1'000};
  // Between two fetches, whatever an upload's answers say.
  static constexpr int64_t kShortestGapMs = 60'000;

  // Both are borrowed.
  ConfigFetcher(ConfigSource* source, ConfigStore* store) : source_(source), store_(store) {}

  // Fetches if it is time to. `random`: any 64 random bits.
  void Poll(int64_t now_mono_ms, int64_t now_wall_ms, uint64_t random);
  // Takes the version in an upload's answer, 0 without one. It is not signed: it only makes the next fetch
  // earlier, once for each version.
  void NoteVersion(uint64_t version, int64_t now_wall_ms);
  // The next fetch comes as early as it may, unless fetches fail.
  void FetchSoon() { is_asked_for_ = true; }

 private:
  void Fetch(int64_t now_wall_ms);
  int64_t DelayMs(uint64_t random) const;

  ConfigSource* source_;
  ConfigStore* store_;
  policies::UploadBackoff upload_backoff_{.first_ms = 30'000, .cap_ms = 3'600'000};
  std::string etag_;
  int failures_ = 0;
  int64_t retry_after_ms_ = 0;
  bool has_fetched_ = false;
  bool is_asked_for_ = false;
  uint64_t noted_version_ = 0;
  int64_t last_mono_ms_ = 0;
  int64_t next_mono_ms_ = 0;
};

}  // namespace lagwatch::report
