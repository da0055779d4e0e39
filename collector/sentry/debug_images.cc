// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "collector/sentry/json_fields.h"
#include "collector/sentry/stack_writer.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

constexpr size_t kMaxIdBytes = 64;
constexpr size_t kGuidBytes = 16;

// The bytes that hexadecimal digits say; empty when they are none. Hyphens do not count.
std::string BytesOf(std::string hex) {
  std::erase(hex, '-');
  return hex.size() <= 2 * kMaxIdBytes ? base::FromHex(hex).value_or("") : "";
}

// An ELF file's debug id is the beginning of its build id, as a GUID with its first three
// numbers turned around.
std::string BuildIdOfGuid(std::string bytes) {
  bytes.resize(std::min(bytes.size(), kGuidBytes));
  if (bytes.size() < kGuidBytes) return "";
  std::reverse(bytes.begin(), bytes.begin() + 4);
  std::swap(bytes[4], bytes[5]);
  std::swap(bytes[6], bytes[7]);
  return bytes;
}

std::string BuildIdOf(const json& image) {
  if (TextOf(image, "type") == "elf") {
    std::string build_id = BytesOf(TextOf(image, "code_id"));
    return build_id.empty() ? BuildIdOfGuid(BytesOf(TextOf(image, "debug_id"))) : build_id;
  }
  std::string debug_id = BytesOf(TextOf(image, "debug_id"));
  return debug_id.empty() ? BytesOf(TextOf(image, "uuid")) : debug_id;
}

std::optional<DebugImage> ReadImage(const json& item) {
  const auto address = AddressOf(item, "image_addr");
  if (!address) return std::nullopt;
  DebugImage image{.path = TextOf(item, "code_file"), .build_id = BuildIdOf(item), .begin = *address};
  if (image.path.empty()) image.path = TextOf(item, "name");
  const uint64_t size = NumberOf(item, "image_size").value_or(0);
  image.end = size == 0 || size > UINT64_MAX - *address ? UINT64_MAX : *address + size;
  image.load_bias = *address - AddressOf(item, "image_vmaddr").value_or(0);
  return image;
}

}  // namespace

DebugImages::DebugImages(const json& event) {
  for (const json& each : ValuesOf(Child(event, "debug_meta"), "images")) {
    if (auto image = ReadImage(each)) images_.push_back(std::move(*image));
  }
  std::ranges::stable_sort(images_, {}, &DebugImage::begin);
}

const DebugImage* DebugImages::Find(uint64_t address) const {
  const auto after = std::ranges::upper_bound(images_, address, {}, &DebugImage::begin);
  if (after == images_.begin()) return nullptr;
  const DebugImage& image = *std::prev(after);
  return address < image.end ? &image : nullptr;
}

}  // namespace lagwatch::collector
