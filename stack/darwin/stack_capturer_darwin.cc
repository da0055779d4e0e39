// SPDX-License-Identifier: Apache-2.0
// Suspends the thread, copies its stack, lets it go on, and unwinds the copy.
#include <memory>
#include <utility>

#include "base/process/mapped_memory.h"
#include "base/ticks.h"
#include "stack/darwin/suspended_copy.h"
#include "stack/stack_capturer.h"

namespace lagwatch::stack {
namespace {

class SuspendingCapturer final : public StackCapturer {
 public:
  explicit SuspendingCapturer(std::shared_ptr<CodeMap> code) : StackCapturer(std::move(code)) {}
  bool ok() const { return copy_ != nullptr; }

  int KeepSignal() override { return 0; }

  void Capture(int tid, Stack* stack, int64_t) override {
    counters_.captures.Add();
    stack->Clear();
    const uint64_t begin_ticks = base::ReadTicks();
    const SuspendedCopy outcome = CopySuspended(static_cast<uint32_t>(tid), &copy_[0]);
    counters_.pause_ticks.Add(base::ReadTicks() - begin_ticks);
    no_stack_reason_ = outcome == SuspendedCopy::kGone ? NoStackReason::kGone : NoStackReason::kUnreadable;
    if (outcome == SuspendedCopy::kCopied) Unwind(copy_[0], stack);
    FinishCapture(tid, stack);
  }

  void BeginCapture(int tid, int64_t cpu_ns, Stack* stack, NoStackReason* no_stack_reason) override {
    Capture(tid, stack, cpu_ns);
    *no_stack_reason = no_stack_reason_;
  }
  void Collect() override {}

  bool CaptureAsleep(int tid, Stack* stack, int) override {
    Capture(tid, stack, kUnread);
    return stack->frame_count != 0;
  }

  int signal_number() const override { return 0; }
  bool ReadInterruptedCall(BlockedThread*) const override { return false; }
  RawStack* answer_for_test() override { return &copy_[0]; }

 private:
  base::MappedBlock<RawStack> copy_ = base::MapBlock<RawStack>(1);  // one
};

}  // namespace

base::Result<std::unique_ptr<StackCapturer>> StackCapturer::Create(const CaptureOptions&,
                                                                   std::shared_ptr<CodeMap> code) {
  auto capturer = std::make_unique<SuspendingCapturer>(std::move(code));
  if (!capturer->ok()) return base::Status(base::StatusCode::kUnavailable, "no memory for a stack's copy");
  return std::unique_ptr<StackCapturer>(std::move(capturer));
}

void StackCapturer::AbandonAllInForkedChild() {}

}  // namespace lagwatch::stack
