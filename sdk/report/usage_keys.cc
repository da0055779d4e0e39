// SPDX-License-Identifier: Apache-2.0
#include "sdk/report/usage_keys.h"

#include <algorithm>

namespace lagwatch::sdk {

static_assert(UsageKeys::kMaxValueBytes == TextCell::kMaxBytes);

UsageKeys::UsageKeys(std::string_view keys, const ProgramContext* program) : program_(program) {
  constexpr std::string_view kBlanks = " \t";
  while (!keys.empty() && keys_.size() < kMaxKeys) {
    const size_t comma = std::min(keys.find(','), keys.size());
    std::string_view key = keys.substr(0, comma);
    keys.remove_prefix(std::min(comma + 1, keys.size()));
    key.remove_prefix(std::min(key.find_first_not_of(kBlanks), key.size()));
    key = key.substr(0, key.find_last_not_of(kBlanks) + 1);
    const bool is_new = std::ranges::find(keys_, key) == keys_.end();
    if (!key.empty() && key.size() <= ProgramValues::kMaxKeyBytes && is_new) keys_.emplace_back(key);
  }
}

void UsageKeys::Read(size_t index, char (&value)[kMaxValueBytes]) const {
  const std::string& key = keys_[index];
  program_->values.Read(key, value);
  if (value[0] == '\0' && key == "scene") program_->scene.Read(value);
}

}  // namespace lagwatch::sdk
