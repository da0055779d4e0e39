// SPDX-License-Identifier: Apache-2.0
// Who may talk to the collector. Context: background. Thread-safe: immutable.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace lagwatch::collector {

// Keeps only digests of the keys, and compares all of them in constant time.
class ApiKeys {
 public:
  explicit ApiKeys(std::span<const std::string> keys);

  // Whether the Authorization header's value is "Bearer KEY" with a known key.
  bool Accepts(std::string_view authorization) const;

 private:
  using Digest = std::array<uint8_t, 32>;  // SHA-256

  static Digest DigestOf(std::string_view key);

  std::vector<Digest> digests_;
};

// The key in the file `path`; when there is no such file, it is created (mode 0600) with a new random key.
// Errors: kIo, kInvalid when the file holds no key.
base::Result<std::string> LoadOrCreateKey(const std::string& path);

}  // namespace lagwatch::collector
