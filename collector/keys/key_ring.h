// SPDX-License-Identifier: Apache-2.0
// The keys with access to the collector, and their quotas. The key file is checked at each request: a changed
// one is used from then on, so a revoked key is refused at once. Context: background. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collector/files/small_files.h"
#include "collector/keys/key_file.h"
#include "collector/keys/token_bucket.h"

namespace lagwatch::collector {

// A key that the command line gave; it is in no file.
struct GivenKey {
  std::string text;
  Access access = Access::kProject;
};

// The result of checking a request's key.
struct KeyCheck {
  enum class Outcome { kUnknown, kExpired, kKnown };

  Outcome outcome = Outcome::kUnknown;
  KeyRecord key = {};  // when it is known or expired
};

// That a key's quota is used up.
struct QuotaRefusal {
  int64_t wait_s = 1;
  std::string reason;  // for a person
};

// A key's quota, and what is left of it.
struct KeyUse {
  std::string name;
  Quota quota = {};
  double reports_left = 0;
  double bytes_left = 0;
};

class KeyRing {
 public:
  // Keys of `given` alone, or of the file, too.
  explicit KeyRing(const std::vector<GivenKey>& given, std::optional<KeyFile> file = std::nullopt);

  // Checks the key in the Authorization header's value "Bearer KEY". Takes as long for each key.
  KeyCheck Check(std::string_view authorization, int64_t now_wall_ms);
  // Checks the key `text`.
  KeyCheck CheckText(std::string_view text, int64_t now_wall_ms);
  // Returns why `key` may not send `size_bytes` now; nothing if it may. Charge() counts what was sent.
  // Once half of what the key may send is used, a `network` may send a sixteenth of it, so that a stranger
  // leaves others room; an empty one is all that is left.
  std::optional<QuotaRefusal> CheckQuota(const KeyRecord& key, uint64_t size_bytes, int64_t now_mono_ns,
                                         const std::string& network = {});
  void Charge(const KeyRecord& key, uint64_t size_bytes, uint64_t reports, int64_t now_mono_ns,
              const std::string& network = {});
  // Of the keys with a quota that were used.
  std::vector<KeyUse> Uses(int64_t now_mono_ns);

 private:
  struct Buckets {
    TokenBucket reports;
    TokenBucket bytes;
  };
  struct Meter {
    Buckets all;
    std::map<std::string, Buckets> networks = {};  // those that were charged lately
  };

  void Refresh(int64_t now_wall_ms);
  Meter* MeterOf(const KeyRecord& key, int64_t now_mono_ns);
  static Buckets BucketsOf(const Quota& quota, double part, int64_t now_mono_ns);
  // The network's part of the key's quota.
  static Buckets* PartOf(const KeyRecord& key, const std::string& network, int64_t now_mono_ns, Meter* meter);

  const std::optional<KeyFile> file_;
  std::vector<KeyRecord> given_;
  std::mutex mutex_;  // guards the following members
  std::optional<FileStamp> stamp_;
  int64_t retry_wall_ms_ = 0;          // when a file that could not be read is tried again; 0: it could
  std::vector<KeyRecord> keys_;        // of the command line and the file
  std::map<KeyDigest, Meter> meters_;  // of keys with a quota that were used
};

}  // namespace lagwatch::collector
