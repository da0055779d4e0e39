// SPDX-License-Identifier: Apache-2.0
// The bytes at a function's begin that lead to its site's code. One file per processor. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/instrument/code_writer.h"
#include "trace/instrument/probes/code_space.h"
#include "trace/instrument/probes/memory_map.h"
#include "trace/instrument/probes/probe_reason.h"
#include "trace/instrument/probes/probe_site.h"
#include "trace/instrument/unwind_index.h"

namespace lagwatch::trace {

// An instruction that a jump can take the place of: the function's first, or one that comes after pushes
// alone.
struct HeadSpot {
  uint64_t address;
  uint64_t pushed_bytes;
  Instruction instruction;
};

// A function, and the part of the process that it is in.
struct HeadPlace {
  static constexpr size_t kMaxSpots = 8;

  uint64_t function;
  uint64_t module_begin;
  uint64_t module_end;
  uint64_t end;                  // of the function
  const UnwindIndex* functions;  // of the module
  size_t spot_count;
  HeadSpot spots[kMaxSpots];
  bool reads_return_address;
  bool is_note = false;         // not of a function, but of a note of <sys/sdt.h> in it
  std::vector<uint64_t> jumps;  // near it, that are in force: two may have no byte in common

  // Whether a jump at `address` has no byte of those.
  bool IsClear(uint64_t address) const;
  // The reason if there is no jump.
  ProbeReason WhyNoJump() const;
};

// The spots of a note at `place->function`, in the function that begins at `begin`: its instruction, and the
// next one where that is reached from there alone. Returns the reason if there is none.
ProbeReason FindNoteSpots(HeadPlace* place, uint64_t begin);
// Looks for the spots; returns the reason if there is none.
ProbeReason FindSpots(HeadPlace* place);

struct HeadPatch {
  static constexpr size_t kSavedBytes = 32;
  static constexpr size_t kJumpBytes = 5;

  ProbeTier tier = ProbeTier::kNone;
  uint8_t at = 0;                            // from the function's begin
  uint8_t size_bytes = 0;                    // that are changed
  unsigned char original[kSavedBytes] = {};  // of the function
  unsigned char patched[kJumpBytes] = {};    // at the spot
  uint8_t saved_bytes = 0;                   // of the original ones: no more than the function has
  uint64_t pad = 0;                          // kHop: the padding that it leads to; else 0
  unsigned char pad_original[5] = {};
  unsigned char pad_patched[5] = {};

  bool HasOriginal(uint64_t function) const;
  // Whether the bytes behind the changed ones, which are a part of the jump and may be another function's,
  // are what they were.
  bool HasDistance(uint64_t function) const;
  bool HasPatch(uint64_t function) const;
  bool HasPadOriginal() const;
};

// Whether a jump could be put there, and of which tier; kNone if not.
ProbeTier FindTier(const MemoryMap& memory, const CodeSpace& space, const HeadPlace& place);

// Writes the site's code, and what is between it and the function, which is not changed yet.
ProbeReason PrepareHead(const CodeWriter& writer, const MemoryMap& memory, CodeSpace* space,
                        const HeadPlace& place, ProbeSite* site, HeadPatch* patch);

// Puts the padding's jump there, for a patch that has one; again after RestorePad().
bool WritePad(const CodeWriter& writer, const HeadPatch& patch);
// Once no thread can be in it.
bool RestorePad(const CodeWriter& writer, const HeadPatch& patch);

// Puts the bytes into force, or the original ones; the processors are to be synchronized before, and after.
bool SwitchHead(const CodeWriter& writer, const MemoryMap& memory, uint64_t function, const HeadPatch& patch,
                bool is_on);

}  // namespace lagwatch::trace
