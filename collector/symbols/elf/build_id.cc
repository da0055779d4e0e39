// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/elf/build_id.h"

#include "base/text.h"

namespace lagwatch::collector {
namespace {

// -1 for another character than a hexadecimal digit.
int DigitOf(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<BuildId> BuildId::FromBytes(std::string_view bytes) {
  if (bytes.size() < kMinBytes || bytes.size() > kMaxBytes) return std::nullopt;
  return BuildId(std::string(bytes));
}

std::optional<BuildId> BuildId::FromHex(std::string_view hex) {
  if (hex.size() % 2 != 0 || hex.size() > 2 * kMaxBytes) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = DigitOf(hex[i]);
    const int low = DigitOf(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  return FromBytes(bytes);
}

std::string BuildId::hex() const { return base::ToHex(bytes_); }

}  // namespace lagwatch::collector
