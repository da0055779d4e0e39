// SPDX-License-Identifier: Apache-2.0
#include "collector/keys/first_keys.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/clock.h"
#include "base/process/env.h"
#include "collector/keys/secret_file.h"

namespace lagwatch::collector {
namespace {

bool Exists(const std::string& path) { return base::SystemEnv().Exists(path.c_str()); }

base::Status Create(const KeyFile& keys, const FirstKey& key) {
  auto text = LoadOrCreateSecret(key.text_path, [&] { return CreateKeyText(key.access); });
  if (!text.ok()) return text.status();
  spdlog::info("the {} key is in {}", NameOf(key.access), key.text_path);
  return keys.AddText({.name = "first-" + std::string(NameOf(key.access)), .access = key.access}, *text,
                      base::SystemClock().WallMs());
}

}  // namespace

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
