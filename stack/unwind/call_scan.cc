// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/call_scan.h"

#include <algorithm>
#include <cstring>

#include "stack/unwind/processor.h"

namespace lagwatch::stack {

std::span<const ScannedCaller> CallScan::Find(uint64_t stack_pointer, uint64_t program_counter) {
  size_t count = 0;
  uint64_t nearest = 0;
  const uint64_t end = std::min(memory_->end(), stack_pointer + kReachBytes);
  uint64_t word;
  for (uint64_t slot = stack_pointer; slot + sizeof word <= end; slot += sizeof word) {
    if (!memory_->ReadCopiedWord(slot, &word)) break;
    const uint64_t return_address = StripSignature(word);
    const CallSite call = code_->CallBefore(return_address);
    if (call.kind != CallSite::CallForm::kDirect) continue;
    const uint64_t target = Reached(call.target, program_counter);
    if (target == 0 || target < nearest) continue;
    // The place cannot be in a function that begins before another one does.
    if (target > nearest) count = 0;
    nearest = target;
    if (count < callers_.size()) callers_[count++] = {slot, return_address};
  }
  return std::span(callers_).first(count);
}

bool CallScan::MayHold(uint64_t function, uint64_t program_counter) const {
  if (function > program_counter || program_counter - function >= kFunctionBytes) return false;
  const uint64_t first = (function / kFunctionAlignment + 1) * kFunctionAlignment;
  for (uint64_t begin = first; begin <= program_counter; begin += kFunctionAlignment) {
    unsigned char before[kFunctionAlignment];
    if (!code_->Read(begin - kFunctionAlignment, before)) return false;
    if (IsFunctionEnd(before) && !BranchesTo(function, begin)) return false;
  }
  return true;
}

bool CallScan::BranchesTo(uint64_t function, uint64_t place) const {
  constexpr size_t kPieceBytes = 64;
  unsigned char code[kPieceBytes + 8];  // the next piece's first bytes, too
  for (uint64_t at = function; at < place; at += kPieceBytes) {
    if (!code_->Read(at, code)) return false;
    for (size_t i = 0; i < kPieceBytes && at + i < place; ++i) {
      unsigned char branch[kBranchBytes];
      std::memcpy(branch, code + i, sizeof branch);
      if (IsBranchTo(branch, at + i, place)) return true;
    }
  }
  return false;
}

uint64_t CallScan::Reached(uint64_t target, uint64_t program_counter) const {
  if (MayHold(target, program_counter)) return target;
  // A jump to another function, such as that of musl's pthread_mutex_lock() to its timed form, or of an
  // entry of the linkage table. Any bytes may look like one, but few of them lead to this place.
  unsigned char code[256];
  if (!code_->Read(target, code)) return 0;
  for (size_t i = 0; i + kJumpBytes <= sizeof code; ++i) {
    if ((target + i) % kFunctionAlignment == 0 && i >= kFunctionAlignment) {
      unsigned char before[kFunctionAlignment];
      std::memcpy(before, code + i - sizeof before, sizeof before);
      if (IsFunctionEnd(before)) break;
    }
    unsigned char jump[kJumpBytes];
    std::memcpy(jump, code + i, sizeof jump);
    const uint64_t next = JumpTarget(jump, target + i);
    if (next != 0 && next % kFunctionAlignment == 0 && MayHold(next, program_counter)) return next;
  }
  return 0;
}

}  // namespace lagwatch::stack
