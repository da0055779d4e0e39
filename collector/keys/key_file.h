// SPDX-License-Identifier: Apache-2.0
// The collector's keys on disk, DATA/keys.json (mode 0600): {"keys": [{"name", "access",
// "created_wall_ms", "expires_wall_ms", "reports_per_s", "bytes_per_day", "sha256"}]}. A change is one
// rename, on disk before it is confirmed; the server and the command line may change it at the same time.
// Context: background. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "collector/keys/key_record.h"

namespace lagwatch::collector {

// The properties of a new key.
struct NewKey {
  std::string name;
  Access access = Access::kProject;
  int64_t expires_after_ms = 0;  // 0: never
  Quota quota = {};
  std::string replaces = {};                        // the name of a key that expires after `overlap_ms`
  int64_t overlap_ms = int64_t{7} * 86'400 * 1000;  // time to replace the old one
};

class KeyFile {
 public:
  explicit KeyFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }

  // None when there is no file. Errors: kIo, kInvalid when it is damaged.
  base::Result<std::vector<KeyRecord>> Read() const;
  // Adds a key and returns its text, which is not kept. Errors: also kInvalid for a name that is bad or
  // taken, kNotFound when there is none to replace.
  base::Result<std::string> Add(const NewKey& key, int64_t now_wall_ms) const;
  // Adds a key whose text is known.
  base::Status AddText(const NewKey& key, std::string_view text, int64_t now_wall_ms) const;
  // Errors: also kNotFound.
  base::Status Revoke(std::string_view name) const;
  // Has `change` edit the keys while no other program does. The file stays as it is if nothing has changed.
  // Errors: also those of `change`.
  base::Status Change(const std::function<base::Status(std::vector<KeyRecord>*)>& change) const;

 private:
  base::Status Write(const std::vector<KeyRecord>& records) const;

  std::string path_;
};

// Of the first project key: more than most collectors could store.
inline constexpr Quota kFirstQuota{.reports_per_s = 1000, .bytes_per_day = uint64_t{20} << 30};

// The keys of a new collector, which is usable before any key was added.
struct FirstKey {
  Access access = Access::kProject;
  std::string text_path;
};

// Sees to it that `keys` has one of each `wanted` access: where there is none, the one whose text is in the
// file `text_path`, which is created (mode 0600) with a new one when it is not there. A text that was there
// before any keys were is taken over; one that is there with keys that do not have it was revoked and stays
// so. Errors: those of KeyFile and LoadOrCreateSecret.
base::Status CreateFirstKeys(const KeyFile& keys, const std::vector<FirstKey>& wanted);

}  // namespace lagwatch::collector
