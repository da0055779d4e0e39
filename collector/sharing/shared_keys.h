// SPDX-License-Identifier: Apache-2.0
// The keys in DATA/keys.json as settings that collectors share: one a key, by its digest. Keys of the command
// line are not among them. Context: background. Thread-safe.
#pragma once

#include <string>
#include <utility>

#include "collector/keys/key_file.h"
#include "collector/sharing/settings_sync.h"

namespace lagwatch::collector {

class SharedKeys final : public OwnSettings {
 public:
  explicit SharedKeys(KeyFile file) : file_(std::move(file)) {}

  // Of two keys of one name, that two collectors made, the younger one gets a longer name. Errors: those of
  // KeyFile.
  base::Status Update(const Change& change) override;
  base::Status Check(const std::string& name, const std::string& content) const override;

 private:
  const KeyFile file_;
};

}  // namespace lagwatch::collector
