// SPDX-License-Identifier: Apache-2.0
// Names a report's frames on the machine it was made on, where the program's files are. Context: background.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/format/report.h"

namespace lagwatch::report {

class FrameNamer {
 public:
  virtual ~FrameNamer() = default;
  // The name, as in the symbol table (mangled), of the function at `offset` of the module file `path`. None
  // when that file is gone, has another build id (raw bytes) or has no symbol there.
  virtual std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                            uint64_t offset) = 0;
};

// Appends to `encoded` a Symbol for each function that `namer` knows and `report`, which is `encoded`
// decoded, does not name yet. A tag that is a place in a module, "editor+0x1f" (lw_function_tag() in
// lagwatch/c.h), is replaced by the readable name of the function there.
void NameFrames(const Report& report, FrameNamer* namer, std::string* encoded);

}  // namespace lagwatch::report
