// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/build_id.h"

#include "base/text.h"

namespace lagwatch::collector {

std::optional<BuildId> BuildId::FromBytes(std::string_view bytes) {
  if (bytes.size() < kMinBytes || bytes.size() > kMaxBytes) return std::nullopt;
  return BuildId(std::string(bytes));
}

std::optional<BuildId> BuildId::FromHex(std::string_view hex) {
  if (hex.size() > 2 * kMaxBytes) return std::nullopt;
  const std::optional<std::string> bytes = base::FromHex(hex);
  return bytes ? FromBytes(*bytes) : std::nullopt;
}

std::string BuildId::hex() const { return base::ToHex(bytes_); }

}  // namespace lagwatch::collector
