// SPDX-License-Identifier: Apache-2.0
// Secrets in files that the first start creates. Context: background.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"

namespace lagwatch::collector {

// The secret in the file `path`, without blanks around it; when there is no such file, it is created (mode
// 0600) with what `create` returns. Errors: kIo, kInvalid when the file is empty, and those of `create`.
base::Result<std::string> LoadOrCreateSecret(const std::string& path,
                                             const std::function<base::Result<std::string>()>& create);

// The same for a key of a type with Create(), Parse() and ToText(), such as report::SealKey.
// Errors: also kInvalid when the file is damaged.
template <typename Key>
base::Result<Key> LoadOrCreateKey(const std::string& path) {
  auto text = LoadOrCreateSecret(
      path, []() -> base::Result<std::string> { return LAGWATCH_TRY(Key::Create()).ToText(); });
  if (!text.ok()) return text.status();
  auto key = Key::Parse(*text);
  if (key.ok()) return key;
  return base::Status(base::StatusCode::kInvalid,
                      "the file " + path + " is damaged: " + key.status().message());
}

}  // namespace lagwatch::collector
