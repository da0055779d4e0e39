// SPDX-License-Identifier: Apache-2.0
#include "stack/stack_capturer.h"

namespace lagwatch::stack {

base::Result<std::unique_ptr<StackCapturer>> StackCapturer::Create(const CaptureOptions& options,
                                                                   std::unique_ptr<Unwinder> unwinder) {
  return Create(options, std::make_shared<CodeMap>(std::move(unwinder)));
}

void StackCapturer::FinishCapture(int tid, Stack* stack) {
  if (scripts_ != nullptr) scripts_->AddTo({.tid = tid, .raw = unwound_}, code_.get(), stack);
  unwound_ = nullptr;
  if (stack->frame_count != 0) {
    no_stack_reason_ = NoStackReason::kNone;
  } else if (code_->modules().module_count() == 0 && no_stack_reason_ != NoStackReason::kGone) {
    no_stack_reason_ = NoStackReason::kNoProc;  // the other reasons are guesses then
  } else if (no_stack_reason_ == NoStackReason::kNone) {
    no_stack_reason_ = NoStackReason::kUnsteady;
  }
  counters_.incomplete_stacks.Add(!stack->HasOutermost() && stack->completeness != Completeness::kCut);
}

}  // namespace lagwatch::stack
