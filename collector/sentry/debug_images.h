// SPDX-License-Identifier: Apache-2.0
// The programs and libraries of an event, its debug_meta.images. Context: background; pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lagwatch::collector {

struct DebugImage {
  std::string path;
  std::string build_id;  // raw bytes: an ELF file's build id, a Mach-O file's UUID
  uint64_t begin = 0;    // addresses in the process
  uint64_t end = 0;
  uint64_t load_bias = 0;  // address = load_bias + offset in the file's own address space
};

class DebugImages {
 public:
  // Images without an address, as of source maps, are left out.
  explicit DebugImages(const nlohmann::json& event);

  // Null when the address is in none. Lives as long as this.
  const DebugImage* Find(uint64_t address) const;

 private:
  std::vector<DebugImage> images_;  // by their begin
};

}  // namespace lagwatch::collector
