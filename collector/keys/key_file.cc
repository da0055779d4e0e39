// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/key_file.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/process/env.h"
#include "collector/files/small_files.h"
#include "collector/keys/secret_file.h"

namespace lagwatch::collector {
namespace {

using Json = nlohmann::ordered_json;

// Keeps other processes out, and other threads of this one, which the file's lock does not.
class ScopedKeyLock {
 public:
  explicit ScopedKeyLock(const std::string& path) : lock_(mutex_) {
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
      error_ = base::SystemEnv().Lock(path.c_str(), &fd_);
      if (error_ != EWOULDBLOCK) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  ~ScopedKeyLock() {
    if (error_ == 0) base::SystemEnv().Unlock(fd_);
  }
  int error() const { return error_; }

 private:
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
  int fd_ = -1;
  int error_ = 0;
};

auto Find(std::vector<KeyRecord>* records, std::string_view name) {
  return std::ranges::find(*records, name,
                           [](const KeyRecord& each) -> std::string_view { return each.name; });
}

Status NoSuchKey(std::string_view name) {
  return {StatusCode::kNotFound, "no such key: '" + std::string(name) + "'; `keys list` shows all names"};
}

// Lets the key `name` expire, unless it does so before.
Status Expire(std::string_view name, int64_t expires_wall_ms, std::vector<KeyRecord>* records) {
  const auto old = Find(records, name);
  if (old == records->end()) return NoSuchKey(name);
  if (old->expires_wall_ms == 0 || old->expires_wall_ms > expires_wall_ms)
    old->expires_wall_ms = expires_wall_ms;
  return {};
}

std::string TextOf(const std::vector<KeyRecord>& records) {
  Json keys = Json::array();
  for (const KeyRecord& record : records) keys.push_back(ToJson(record));
  return Json{{"keys", std::move(keys)}}.dump(2) + "\n";
}

bool Exists(const std::string& path) { return base::SystemEnv().Exists(path.c_str()); }

base::Status Create(const KeyFile& keys, const FirstKey& key) {
  auto text = LoadOrCreateSecret(key.text_path, [&] { return CreateKeyText(key.access); });
  if (!text.ok()) return text.status();
  spdlog::info("the {} key is in {}", NameOf(key.access), key.text_path);
  NewKey added{.name = "first-" + std::string(NameOf(key.access)), .access = key.access};
  if (key.access == Access::kProject) added.quota = kFirstQuota;
  return keys.AddText(added, *text, base::SystemClock().WallMs());
}

}  // namespace

Result<std::vector<KeyRecord>> KeyFile::Read() const {
  std::string text;
  std::vector<KeyRecord> records;
  const int error = base::SystemEnv().ReadAll(path_, &text);
  if (error == ENOENT) return records;
  if (error != 0) return base::IoError("cannot read the keys " + path_, error);
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("keys") || !json["keys"].is_array())
    return Status(StatusCode::kInvalid,
                  "the file " + path_ + " is damaged: it has no list of keys; restore it");
  for (const Json& each : json["keys"]) {
    auto record = ParseKeyRecord(each);
    if (!record.ok())
      return Status(StatusCode::kInvalid, "the file " + path_ + " is damaged: " + record.status().message());
    records.push_back(std::move(*record));
  }
  return records;
}

Result<std::string> KeyFile::Add(const NewKey& key, int64_t now_wall_ms) const {
  auto text = CreateKeyText(key.access);
  if (!text.ok()) return text;
  if (Status added = AddText(key, *text, now_wall_ms); !added.ok()) return added;
  return text;
}

Status KeyFile::AddText(const NewKey& key, std::string_view text, int64_t now_wall_ms) const {
  if (Status name = CheckKeyName(key.name); !name.ok()) return name;
  return Change([&](std::vector<KeyRecord>* records) -> Status {
    if (Find(records, key.name) != records->end())
      return {StatusCode::kInvalid,
              "a key named '" + key.name + "' exists already; revoke it or choose another name"};
    if (!key.replaces.empty()) {
      if (Status old = Expire(key.replaces, now_wall_ms + key.overlap_ms, records); !old.ok()) return old;
    }
    records->push_back({.name = key.name,
                        .access = key.access,
                        .digest = DigestOf(text),
                        .created_wall_ms = now_wall_ms,
                        .expires_wall_ms = key.expires_after_ms == 0 ? 0 : now_wall_ms + key.expires_after_ms,
                        .quota = key.quota});
    return {};
  });
}

Status KeyFile::Revoke(std::string_view name) const {
  return Change([&](std::vector<KeyRecord>* records) -> Status {
    const auto found = Find(records, name);
    if (found == records->end()) return NoSuchKey(name);
    records->erase(found);
    return {};
  });
}

Status KeyFile::Change(const std::function<Status(std::vector<KeyRecord>*)>& change) const {
  const ScopedKeyLock lock(path_ + ".lock");
  if (lock.error() == EWOULDBLOCK)
    return {StatusCode::kUnavailable, "another program is changing " + path_ + "; try again"};
  if (lock.error() != 0) return base::IoError("cannot lock " + path_ + ".lock", lock.error());
  auto records = LAGWATCH_TRY(Read());
  const std::string before = TextOf(records);
  if (Status changed = change(&records); !changed.ok()) return changed;
  return TextOf(records) == before ? Status() : Write(records);
}

Status KeyFile::Write(const std::vector<KeyRecord>& records) const {
  return ReplaceFile(path_, TextOf(records));
}

base::Status CreateFirstKeys(const KeyFile& keys, const std::vector<FirstKey>& wanted) {
  const bool has_keys = Exists(keys.path());
  auto records = LAGWATCH_TRY(keys.Read());
  for (const FirstKey& key : wanted) {
    if (std::ranges::count(records, key.access, &KeyRecord::access) > 0) continue;
    if (has_keys && Exists(key.text_path)) {
      spdlog::warn(
          "no valid {} key: the one in {} was revoked; `lagwatch-collector keys add` creates another",
          NameOf(key.access), key.text_path);
      continue;
    }
    if (base::Status created = Create(keys, key); !created.ok()) return created;
  }
  return {};
}

}  // namespace lagwatch::collector
