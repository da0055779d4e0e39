// SPDX-License-Identifier: Apache-2.0
// A rule that nearly all code has, in one word, so that it can be cached without a lock. Context: any, signal
// included (plain data).
#pragma once

#include <cstdint>

#include "stack/unwind/tables/rule.h"

namespace lagwatch::stack {

// Invariant: the values that a rule by a register needs lie in whole words below the CFA, of at most 1 MiB.
class CompactRule {
 public:
  enum RuleKind : uint64_t {
    kUnknown,         // nothing is known of this code
    kByStackPointer,  // the CFA is the register plus cfa_bytes
    kByFramePointer,
    kEnd,    // there is no caller
    kOther,  // does not fit: to be looked up again
  };

  explicit CompactRule(uint64_t word) : word_(word) {}
  static CompactRule Of(const UnwindRule& rule);

  uint64_t word() const { return word_; }
  RuleKind kind() const { return static_cast<RuleKind>(word_ & kKindMask); }
  uint64_t cfa_bytes() const { return word_ & kFieldMask; }
  // The distance of the caller's registers below the CFA; 0: they are the callee's.
  uint64_t frame_pointer_bytes() const { return word_ >> kFramePointerShift & kFieldMask; }
  uint64_t base_pointer_bytes() const { return word_ >> kBasePointerShift & kBasePointerMask; }
  uint64_t return_address_bytes() const { return word_ >> kReturnAddressShift & kFieldMask; }

 private:
  // Multiples of 8, whose low bits another field has: no shift is needed to make bytes of words.
  static constexpr uint64_t kKindMask = 7;
  static constexpr uint64_t kFieldMask = ((uint64_t{1} << 17) - 1) << 3;
  static constexpr int kReturnAddressShift = 17;
  static constexpr int kFramePointerShift = 34;
  static constexpr int kBasePointerShift = 51;
  static constexpr uint64_t kBasePointerMask = ((uint64_t{1} << 10) - 1) << 3;

  // Returns false if it does not fit; 0 for a register that was not saved.
  static bool PackSaved(UnwindRule::Saved where, int32_t offset, uint64_t mask, uint64_t* bytes) {
    *bytes = 0;
    if (where == UnwindRule::Saved::kSame) return true;
    *bytes = static_cast<uint64_t>(-int64_t{offset});
    return where == UnwindRule::Saved::kAtCfa && *bytes != 0 && (*bytes & ~mask) == 0;
  }

  uint64_t word_;
};

inline CompactRule CompactRule::Of(const UnwindRule& rule) {
  if (rule.cfa == UnwindRule::Cfa::kNone) return CompactRule(kUnknown);
  if (rule.is_signal_frame) return CompactRule(kOther);
  if (rule.return_address == UnwindRule::Saved::kUndefined) return CompactRule(kEnd);
  const bool is_by_frame_pointer = rule.cfa == UnwindRule::Cfa::kFramePointer;
  const bool is_by_register = is_by_frame_pointer || rule.cfa == UnwindRule::Cfa::kStackPointer;
  const auto cfa_bytes = static_cast<uint64_t>(int64_t{rule.cfa_offset});
  uint64_t return_address;
  uint64_t frame_pointer;
  uint64_t base_pointer;
  if (!is_by_register || (cfa_bytes & ~kFieldMask) != 0 || rule.return_address != UnwindRule::Saved::kAtCfa ||
      !PackSaved(rule.return_address, rule.return_address_offset, kFieldMask, &return_address) ||
      !PackSaved(rule.frame_pointer, rule.frame_pointer_offset, kFieldMask, &frame_pointer) ||
      !PackSaved(rule.base_pointer, rule.base_pointer_offset, kBasePointerMask, &base_pointer)) {
    return CompactRule(kOther);
  }
  return CompactRule((is_by_frame_pointer ? kByFramePointer : kByStackPointer) | cfa_bytes |
                     return_address << kReturnAddressShift | frame_pointer << kFramePointerShift |
                     base_pointer << kBasePointerShift);
}

}  // namespace lagwatch::stack
