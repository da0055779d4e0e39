// SPDX-License-Identifier: Apache-2.0
// The uploader's interface for functions' names. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lagwatch::report {

class FrameNamer {
 public:
  virtual ~FrameNamer() = default;
  // The name, as in the symbol table (mangled), of the function at `offset` of the module file `path`. None
  // when that file is gone, has another build id (raw bytes) or has no symbol there.
  virtual std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                            uint64_t offset) = 0;
};

}  // namespace lagwatch::report
