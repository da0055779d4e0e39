// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/frame_pointer_search.h"

#include <algorithm>

namespace lagwatch::stack {
namespace {

constexpr uint64_t kStackAlignment = 16;  // of a frame's begin, in both ABIs

}  // namespace

FramePointerSearch::FramePointerSearch(uint64_t stack_pointer, uint64_t function_start,
                                       const UnwindRule& rule, StackMemory* memory, const CodeReader* code)
    : stack_pointer_(stack_pointer),
      function_start_(function_start),
      rule_(rule),
      memory_(memory),
      code_(code) {
  uint64_t cfa = stack_pointer + static_cast<uint64_t>(int64_t{rule.cfa_offset});
  cfa = (cfa + kStackAlignment - 1) & ~(kStackAlignment - 1);
  first_ = next_ = cfa - static_cast<uint64_t>(int64_t{rule.cfa_offset});
}

bool FramePointerSearch::Next(uint64_t* frame_pointer) {
  bool is_searchable = rule_.return_address == UnwindRule::Saved::kAtCfa &&
                       rule_.frame_pointer == UnwindRule::Saved::kAtCfa && function_start_ != 0;
  if (!is_searchable) return false;
  if (proof_ == Proof::kPrologue) {
    if (!is_prologue_checked_ && CheckPrologue(frame_pointer)) return true;
    proof_ = Proof::kCall;
  }
  const uint64_t end = std::min(memory_->end(), stack_pointer_ + kReachBytes);
  while (proof_ != Proof::kNone && candidate_count_ < kMaxCandidates) {
    for (; next_ < end; next_ += kStackAlignment) {
      if (!IsProven(next_)) continue;
      ++candidate_count_;
      *frame_pointer = next_;
      next_ += kStackAlignment;
      return true;
    }
    next_ = first_;
    proof_ = proof_ == Proof::kCall ? Proof::kChain : Proof::kNone;
  }
  return false;
}

bool FramePointerSearch::CheckPrologue(uint64_t* frame_pointer) {
  is_prologue_checked_ = true;
  unsigned char code[kMaxPrologueBytes];
  uint64_t frame_bytes;
  if (!code_->Read(function_start_, code) || !DecodePrologue(code, &frame_bytes)) return false;
  *frame_pointer = stack_pointer_ + frame_bytes;
  uint64_t cfa = *frame_pointer + static_cast<uint64_t>(int64_t{rule_.cfa_offset});
  uint64_t return_address;
  return memory_->ReadWord(cfa + static_cast<uint64_t>(int64_t{rule_.return_address_offset}),
                           &return_address) &&
         code_->IsReturnAddress(StripSignature(return_address));
}

bool FramePointerSearch::Calls(const CallSite& call) const {
  if (call.kind != CallSite::CallForm::kDirect) return false;
  if (call.target == function_start_) return true;
  unsigned char code[kMaxCodeBytes];
  uint64_t pointer = code_->Read(call.target, code) ? StubPointer(code, call.target) : 0;
  uint64_t target;
  return pointer != 0 && code_->process().ReadValue(pointer, &target) && target == function_start_;
}

bool FramePointerSearch::IsProven(uint64_t candidate) const {
  uint64_t cfa = candidate + static_cast<uint64_t>(int64_t{rule_.cfa_offset});
  uint64_t return_address;
  uint64_t saved;
  if (!memory_->ReadWord(cfa + static_cast<uint64_t>(int64_t{rule_.return_address_offset}),
                         &return_address) ||
      !memory_->ReadWord(cfa + static_cast<uint64_t>(int64_t{rule_.frame_pointer_offset}), &saved)) {
    return false;
  }
  CallSite call = code_->CallBefore(StripSignature(return_address));
  if (proof_ == Proof::kCall) return Calls(call);
  bool is_plausible = saved == 0 || (saved > candidate && saved < memory_->end());
  return call.kind == CallSite::CallForm::kIndirect && is_plausible;
}

}  // namespace lagwatch::stack
