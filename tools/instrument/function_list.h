// SPDX-License-Identifier: Apache-2.0
// The functions of a program's or library's file: those that rules take, and those that each mechanism of
// lagwatch can instrument. Nothing of the file runs. Context: background.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/instrument/rules/instrument_rules.h"

namespace lagwatch::tools {

struct ListedFunction {
  uint64_t offset = 0;      // in the file's own address space
  uint64_t id = 0;          // trace::StableFunctionId(); 0 without a symbol
  std::string symbol = {};  // empty: the file has none
  std::string name = {};    // with its parameters; "module+0x…" without a symbol
  std::string plain_name = {};
  std::string source_file = {};    // empty: unknown
  bool is_taken = false;           // by the rules
  size_t line = 0;                 // of the rule that decides; 0: none matches
  std::string rule = {};           // its text
  std::string patch_refusal = {};  // why the run-time patcher leaves it out; empty: it takes it
  std::string probe_refusal = {};  // why probes do
};

struct FunctionList {
  std::string path;
  std::string build_id;    // raw
  bool has_hooks = false;  // built with -finstrument-functions, at least in parts
  bool has_debug_information = false;
  std::vector<ListedFunction> functions;  // by offset
};

// Errors: kNotFound, kIo; kInvalid if it is not a program or library for this processor.
base::Result<FunctionList> ListFunctionsOf(const std::string& path, const trace::InstrumentRules& rules);

// Functions that the code of those at `offsets` calls directly, by their offsets. Empty where this
// processor's code is not understood.
std::vector<uint64_t> DirectCallees(const std::string& path, const FunctionList& list,
                                    const std::vector<uint64_t>& offsets);

}  // namespace lagwatch::tools
