// SPDX-License-Identifier: Apache-2.0
// The bytes at a function's begin that lead to its site's code. One file per processor. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace/instrument/code_writer.h"
#include "trace/instrument/probes/code_space.h"
#include "trace/instrument/probes/function_prober.h"
#include "trace/instrument/probes/memory_map.h"
#include "trace/instrument/probes/probe_site.h"

namespace lagwatch::trace {

struct HeadPatch {
  static constexpr size_t kSavedBytes = 16;

  ProbeTier tier = ProbeTier::kNone;
  uint8_t size_bytes = 0;  // that are changed
  unsigned char original[kSavedBytes] = {};
  unsigned char patched[5] = {};
};

// The part of the process that a function is in.
struct HeadPlace {
  uint64_t function;
  uint64_t module_begin;
  uint64_t module_end;
  Instruction first;  // of the function
  bool reads_return_address;
};

// Whether a jump could be put there, and of which tier; kNone if not.
ProbeTier FindTier(const MemoryMap& memory, const CodeSpace& space, const HeadPlace& place);

// Writes the site's code, and what is between it and the function, which is not changed yet.
ProbeReason PrepareHead(const CodeWriter& writer, const MemoryMap& memory, CodeSpace* space,
                        const HeadPlace& place, const ProbeSite* site, HeadPatch* patch);

// Puts the bytes into force, or the original ones; the processors are to be synchronized before, and after.
bool SwitchHead(const CodeWriter& writer, const MemoryMap& memory, uint64_t function, const HeadPatch& patch,
                bool is_on);

}  // namespace lagwatch::trace
