// SPDX-License-Identifier: Apache-2.0
// The unwind tables as compilers write them, .eh_frame and .debug_frame (DWARF 5, section 6.4; Linux Standard
// Base, "Exception Frames"), and the little program in each entry that yields the rule of each instruction.
// Context: watchdog, background. Nothing here allocates, and no byte is trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>

#include "stack/unwind/tables/byte_cursor.h"
#include "stack/unwind/tables/rule.h"

namespace lagwatch::stack {

enum class FrameSection : uint8_t {
  kEhFrame,     // as mapped in memory
  kDebugFrame,  // as in a file; its expressions are not supported
};

// The header of an entry.
struct EntryHeader {
  uint64_t size;         // of the whole entry, in bytes, INT64_MAX at most; 0 for the end of the section
  bool is_cie;           // else an FDE
  uint64_t cie_address;  // of an FDE's CIE, in the same terms as the section's own address
};

// Reads the header of the entry at the begin of `bytes`. False when there is none.
bool ParseEntryHeader(const ByteView& bytes, FrameSection section, uint64_t section_address,
                      EntryHeader* header);

// A common information entry (CIE): what the functions of an object file share.
struct CommonInformation {
  uint64_t code_alignment;
  int64_t data_alignment;
  uint8_t pointer_encoding;
  bool has_augmentation_data;
  bool is_signal_frame;
  ByteView instructions;
};
// `entry` is the whole entry.
bool ParseCommonInformation(const ByteView& entry, FrameSection section, CommonInformation* cie);

// A frame description entry (FDE): one function, or a part of it. [begin, end) are addresses of code.
struct FrameDescription {
  uint64_t begin;
  uint64_t end;
  ByteView instructions;
};
bool ParseFrameDescription(const ByteView& entry, FrameSection section, const CommonInformation& cie,
                           FrameDescription* fde);

// The places in which a function has saved registers of its caller's, other than the return address.
struct SavedPlaces {
  uint64_t begin = 0;  // of the function's code
  uint64_t end = 0;
  int32_t from_cfa[16] = {};
  size_t count = 0;

  void Add(int32_t offset) {
    if (count < std::size(from_cfa)) from_cfa[count++] = offset;
  }
  std::span<const int32_t> offsets() const { return {from_cfa, count}; }
};

// The rules of one function, in the order of its instructions. Borrows the views in `cie` and `fde`.
class RuleRows {
 public:
  struct Row {
    uint64_t begin;  // of the code that the rule holds for
    uint64_t end;
    UnwindRule rule;
  };

  // Expressions are identified by their address less `load_bias`.
  RuleRows(const CommonInformation& cie, const FrameDescription& fde, FrameSection section,
           uint64_t load_bias);
  // From now on, the rows that are passed add the places in which they save registers; those that restore
  // them are ignored.
  void Collect(SavedPlaces* saved) { saved_ = saved; }
  // Returns false if there are no more rows. Code whose rule is unknown gets one without a CFA.
  bool Next(Row* row);

 private:
  static constexpr int kMaxRemembered = 8;

  // Runs instructions up to the next advance of the location, or the end.
  void RunUntilAdvance(ByteCursor* instructions);
  // True for an advance.
  bool RunExtended(uint8_t opcode, ByteCursor* instructions);
  void Advance(uint64_t factored_delta);
  void SetCfa(uint64_t dwarf_register, int64_t offset);
  void SetSaved(uint64_t dwarf_register, UnwindRule::Saved where, int64_t offset);
  void Restore(uint64_t dwarf_register);
  bool Fits(int64_t offset);
  // Whether the CFA has an offset that may be changed: an expression has none.
  bool HasCfaOffset();
  // A pointer to the length of the expression, relative to the load bias; false when it does not fit.
  bool ExpressionOffset(uint64_t address, int32_t* offset);

  const CommonInformation& cie_;
  FrameSection section_;
  uint64_t load_bias_;
  uint64_t end_;
  ByteCursor instructions_;
  uint64_t location_;
  uint64_t next_location_;
  bool is_broken_ = false;
  SavedPlaces* saved_ = nullptr;  // null: not asked for
  UnwindRule rule_;
  UnwindRule initial_;
  UnwindRule remembered_[kMaxRemembered];
  int remembered_count_ = 0;
};

}  // namespace lagwatch::stack
