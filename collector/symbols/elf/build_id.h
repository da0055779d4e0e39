// SPDX-License-Identifier: Apache-2.0
// Identifies a module's files. Context: background; pure.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::collector {

class BuildId {
 public:
  static constexpr size_t kMinBytes = 4;
  static constexpr size_t kMaxBytes = 64;

  // None unless it has kMinBytes to kMaxBytes.
  static std::optional<BuildId> FromBytes(std::string_view bytes);
  static std::optional<BuildId> FromHex(std::string_view hex);

  const std::string& bytes() const { return bytes_; }
  std::string hex() const;  // lower case: safe in a file's name
  // "ab/cdef…", as under /usr/lib/debug/.build-id.
  std::string path() const { return hex().insert(2, 1, '/'); }

  auto operator<=>(const BuildId&) const = default;

 private:
  explicit BuildId(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string bytes_;
};

}  // namespace lagwatch::collector
