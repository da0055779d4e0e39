// SPDX-License-Identifier: Apache-2.0
// The loaded modules as probes see them: which functions they have, and which of them are left alone.
// Context: background, while they cannot be unloaded.
#pragma once

#include <link.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stack/elf/local_symbols.h"
#include "trace/instrument/probes/probe_site.h"
#include "trace/instrument/unwind_index.h"

namespace lagwatch::trace {

struct ProbedModule {
  uint64_t begin = 0;  // all of it
  uint64_t end = 0;
  uint64_t code_begin = 0;
  uint64_t code_end = 0;
  uint64_t load_bias = 0;
  uint64_t dynamic = 0;  // the loader's table of the module; 0: none
  std::string path;
  std::string build_id;
  bool is_excluded = false;
  UnwindIndex functions;

  explicit ProbedModule(const dl_phdr_info& info);

  bool HasCode(uint64_t address) const { return address - code_begin < code_end - code_begin; }
};

// Whether a function is left alone for its name.
class ExcludedFunctions {
 public:
  bool Has(const ProbedModule& module, uint64_t function);
  // Reads the tables of the C libraries that are loaded, without the loader's lock: each takes a while.
  void ReadTables();

 private:
  const stack::FunctionTable& TableOf(const std::string& path, const std::string& build_id);

  std::map<std::string, stack::FunctionTable> tables_;  // of C libraries, by path and build id
};

// UseUnwinder() of the module, if it has one; false else. Context: inside of WalkLoadedModules().
bool UseUnwinderOf(const ProbedModule& module, const dl_phdr_info& info);
// For UseCallerRanges(); false when there is no memory.
bool UseCallerRangesOf(std::vector<CallerRanges::Range> ranges);

// The code of `module` that its unwind table describes, appended.
void AddCallerRanges(const ProbedModule& module, std::vector<CallerRanges::Range>* ranges);

}  // namespace lagwatch::trace
