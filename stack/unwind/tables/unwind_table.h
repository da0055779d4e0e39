// SPDX-License-Identifier: Apache-2.0
// A module's unwind tables, compiled once into sorted rows of six bytes. See docs/design/unwinding.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/process/mapped_array.h"
#include "stack/code/module_map.h"
#include "stack/unwind/tables/call_frame_info.h"
#include "stack/unwind/tables/rule.h"

namespace lagwatch::stack {

// The sections of a module's file that its memory does not have; empty views if it has none.
struct FileSections {
  ByteView eh_frame;  // for a module whose memory does not show its own
  ByteView debug_frame;
};

// Immutable once compiled, and the same wherever the module is loaded.
class UnwindTable {
 public:
  // Compiles the .eh_frame that `module` has in memory, or else in its file, and of .debug_frame
  // what that lacks. False when there is nothing, when there is no memory, or when `stop` became
  // true. Context: background.
  bool Compile(const Module& module, const FileSections& file, const std::atomic<bool>& stop);
  // Whether the module's memory is the compiled one: another module may have come and gone in its place
  // meanwhile. Context: background.
  bool WasReadFrom(const Module& module) const;

  // False when nothing is known of the code at `offset`. Context: watchdog.
  bool Find(uint64_t offset, FoundRule* found) const;

  size_t row_count() const { return row_offsets_.size(); }
  size_t function_count() const { return function_offsets_.size(); }
  size_t size_bytes() const {
    return row_offsets_.size_bytes() + row_rules_.size_bytes() + function_offsets_.size_bytes() +
           rules_.size_bytes();
  }
  // Functions whose rules did not fit; none in practice.
  uint64_t dropped_count() const { return dropped_count_; }

 private:
  friend class TableBuilder;

  base::MappedArray<uint32_t> row_offsets_;  // ascending; a row holds up to the next one's offset
  base::MappedArray<uint16_t> row_rules_;    // indices into rules_
  base::MappedArray<uint32_t> function_offsets_;
  base::MappedArray<UnwindRule> rules_;  // distinct
  uint64_t dropped_count_ = 0;
  // Of the .eh_frame in memory; no bytes when there was none.
  uint64_t source_address_ = 0;
  uint64_t source_bytes_ = 0;
  uint32_t source_crc_ = 0;
};

}  // namespace lagwatch::stack
