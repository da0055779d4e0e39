// SPDX-License-Identifier: Apache-2.0
// The patchable functions of a loaded module: its section __patchable_function_entries, read from memory, so
// that its addresses are the real ones. Context: background, while the module cannot be unloaded.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

#include "trace/instrument/patch_site.h"

namespace lagwatch::trace {

struct PatchableModule {
  uint64_t load_bias = 0;
  std::string path;      // of its file
  std::string build_id;  // raw bytes; may be empty
  uint64_t code_begin = 0;
  uint64_t code_end = 0;
  std::vector<PatchSite> sites;  // ascending; also those whose shape is none

  bool IsSame(const PatchableModule& other) const {
    return load_bias == other.load_bias && path == other.path && build_id == other.build_id;
  }
};

// Everything but the sites: cheap.
PatchableModule DescribeModule(const dl_phdr_info& info);
// The sites, of a module whose code is as its file has it. It has none when its file is gone or is another.
void FindSites(const dl_phdr_info& info, PatchableModule* module);

}  // namespace lagwatch::trace
