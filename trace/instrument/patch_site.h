// SPDX-License-Identifier: Apache-2.0
// The nops at a function's entry that -fpatchable-function-entry makes, and the call that replaces them.
// docs/design/trace_instrument.md shows how it is written while other threads run through it. One file per
// processor knows its instructions; without one, nothing can be patched. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lagwatch::trace {

// The form of the nops, which decides where a call in their place can go.
enum class NopShape : uint8_t {
  kNone,        // none that can be patched
  kSingles,     // five of one byte: 90 90 90 90 90
  kLong44,      // one of five bytes or more: 0f 1f 44 …
  kLong84,      // 0f 1f 84 …
  kLong80,      // 0f 1f 80 …
  kPrefixed44,  // 66 0f 1f 44 …
  kPrefixed84,  // 66 0f 1f 84 …
};
inline constexpr NopShape kNopShapes[] = {NopShape::kSingles, NopShape::kLong44,     NopShape::kLong84,
                                          NopShape::kLong80,  NopShape::kPrefixed44, NopShape::kPrefixed84};

struct PatchSite {
  uint64_t address = 0;  // of the first nop at the entry
  uint64_t function =
      0;  // where the function begins: there, or at a landing pad for indirect jumps before it
  NopShape shape = NopShape::kNone;
  uint8_t nop_bytes = 0;  // of a long one
};

// Whether this build can patch on this machine. Context: background.
bool CanPatch();

// Code in this process's memory.
struct CodeView {
  uint64_t begin;
  uint64_t end;

  const unsigned char* at(uint64_t address) const { return reinterpret_cast<const unsigned char*>(address); }
  bool Has(uint64_t address, size_t size_bytes) const {
    return address >= begin && address <= end && end - address >= size_bytes;
  }
};

// The site of a function whose nops begin at `area`. `entry` is where unwind tables have the function begin
// that is at or next after `area`: with nops before the entry, too, that is further on. 0: not known.
PatchSite FindPatchSite(const CodeView& code, uint64_t area, uint64_t entry);

// The size of the call; a displacement counts from its end.
inline constexpr uint64_t kCallBytes = 5;

// The displacements that a call in the place of such nops can have: the `index`th, or 0 after the last one.
int64_t StubDisplacement(NopShape shape, size_t index);

// The bytes to write at a site, in this order, one by one, with the other processors synchronized before the
// last one: they may see each byte at any time.
struct SiteBytes {
  size_t operand_count = 0;
  uint8_t operand_at[16];
  unsigned char operands[16];
  unsigned char on;   // the first byte: the call
  unsigned char off;  // the nop again, its operand being what it may
};
SiteBytes BytesFor(const PatchSite& site, int64_t displacement);

// A jump to where the 8 bytes at `literal` point, to be written at `stub`.
inline constexpr size_t kStubBytes = 6;
void MakeStub(uint64_t stub, uint64_t literal, unsigned char bytes[kStubBytes]);

// The target of stubs: for sites at their function's beginning, and for those after a landing pad.
uint64_t EntryTrampoline(bool is_after_landing_pad);

}  // namespace lagwatch::trace
