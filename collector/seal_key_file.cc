// SPDX-License-Identifier: Apache-2.0
#include "collector/seal_key_file.h"

#include "collector/secret_file.h"

namespace lagwatch::collector {

base::Result<report::SealKey> LoadOrCreateSealKey(const std::string& path) {
  auto text = LoadOrCreateSecret(path, []() -> base::Result<std::string> {
    auto key = report::SealKey::Create();
    if (!key.ok()) return key.status();
    return key->ToText();
  });
  if (!text.ok()) return text.status();
  auto key = report::SealKey::Parse(*text);
  if (key.ok()) return key;
  return base::Status(base::StatusCode::kInvalid,
                      "the file " + path + " is damaged: " + key.status().message());
}

}  // namespace lagwatch::collector
