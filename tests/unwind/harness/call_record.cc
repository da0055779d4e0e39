// SPDX-License-Identifier: Apache-2.0
#include "tests/unwind/harness/call_record.h"

namespace lagwatch::unwind_test {
namespace {

uint64_t WordAt(uint64_t address) { return *reinterpret_cast<const uint64_t*>(address); }

bool IsReturn(uint64_t pc) {
  const auto* code = reinterpret_cast<const unsigned char*>(pc);
  if (code[0] == 0xf2 || code[0] == 0xf3) ++code;
  return code[0] == 0xc3 || code[0] == 0xc2;
}

bool IsIndirectJump(uint64_t pc) {
  const auto* code = reinterpret_cast<const unsigned char*>(pc);
  if (code[0] == 0x41) ++code;
  return code[0] == 0xff && (code[1] >> 3 & 7) == 4;
}

// Whether `word`, just pushed, is the return address of a call at `pc`: no other instruction pushes the
// address right behind itself.
bool IsReturnAddressOf(uint64_t pc, uint64_t word) {
  constexpr uint64_t kShortestCall = 2;
  constexpr uint64_t kLongestCall = 9;
  return word - pc >= kShortestCall && word - pc <= kLongestCall;
}

}  // namespace

void CallRecord::Begin(uint64_t slot, std::span<void* const> outer, const stack::StackRegions& stacks) {
  stack_end_ = outer_stack_end_ = stacks.LiveStack(slot).end;
  call_count_ = outer_count_ = 0;
  pc_ = stack_pointer_ = 0;
  is_leaving_ = false;
  Push(slot, reinterpret_cast<uint64_t>(outer[0]));
  for (void* address : outer.subspan(1)) {
    if (outer_count_ < kMaxDepth) outer_[outer_count_++] = reinterpret_cast<uint64_t>(address);
  }
}

void CallRecord::Step(uint64_t pc, uint64_t stack_pointer, const stack::StackRegions& stacks) {
  uint64_t stack_end = stacks.LiveStack(stack_pointer).end;
  bool has_returned = pc_ != 0 && IsReturn(pc_);
  if (stack_end != stack_end_) is_leaving_ = true;
  stack_end_ = stack_end;
  if (DropReturned(stack_pointer) && !has_returned) is_leaving_ = true;
  if (is_leaving_) {
    is_leaving_ = !has_returned && !IsIndirectJump(pc_);
    // A stack's first function is entered by a return and finds its own return address where a caller
    // would push it.
    if (!is_leaving_ && Innermost() == nullptr && stack_end_ != outer_stack_end_) {
      Push(stack_pointer, WordAt(stack_pointer));
    }
  } else if (stack_pointer == stack_pointer_ - 8 && IsReturnAddressOf(pc_, WordAt(stack_pointer))) {
    Push(stack_pointer, WordAt(stack_pointer));
  }
  pc_ = pc;
  stack_pointer_ = stack_pointer;
}

bool CallRecord::IsClear() const {
  if (is_leaving_ || Innermost() == nullptr) return false;
  for (size_t i = 0; i < call_count_; ++i) {
    if (calls_[i].stack_end == stack_end_ && WordAt(calls_[i].slot) != calls_[i].return_address) return false;
  }
  return true;
}

void CallRecord::Write(CallChain* chain) const {
  chain->size = 0;
  chain->innermost_slot = Innermost()->slot;
  chain->Add(pc_);
  for (size_t i = call_count_; i-- > 0;) {
    if (calls_[i].stack_end == stack_end_) chain->Add(calls_[i].return_address);
  }
  if (stack_end_ != outer_stack_end_) return;
  for (size_t i = 0; i < outer_count_; ++i) chain->Add(outer_[i]);
}

bool CallRecord::DropReturned(uint64_t stack_pointer) {
  size_t kept = 0;
  for (size_t i = 0; i < call_count_; ++i) {
    if (calls_[i].stack_end != stack_end_ || calls_[i].slot >= stack_pointer) calls_[kept++] = calls_[i];
  }
  bool has_dropped = kept != call_count_;
  call_count_ = kept;
  return has_dropped;
}

void CallRecord::Push(uint64_t slot, uint64_t return_address) {
  if (call_count_ < kMaxCalls) calls_[call_count_++] = {slot, return_address, stack_end_};
}

const CallRecord::Call* CallRecord::Innermost() const {
  for (size_t i = call_count_; i-- > 0;) {
    if (calls_[i].stack_end == stack_end_) return &calls_[i];
  }
  return nullptr;
}

}  // namespace lagwatch::unwind_test
