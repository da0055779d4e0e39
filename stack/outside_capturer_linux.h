// SPDX-License-Identifier: Apache-2.0
// The capturer of another process's threads: see stack/stack_capturer.h. One that sleeps is read where it
// lies; one that runs is stopped for the time in which its registers and its stack are copied.
#pragma once

#include <cstdint>
#include <memory>

#include "base/process/mapped_memory.h"
#include "stack/stack_capturer.h"

namespace lagwatch::stack {

class OutsideCapturer final : public StackCapturer {
 public:
  // Context: background.
  OutsideCapturer(const CaptureOptions& options, std::shared_ptr<CodeMap> code);
  // False when there was no memory: then it is of no use.
  bool ok() const { return raw_ != nullptr && regions_ != nullptr; }

  int KeepSignal() override { return 0; }
  void Capture(int tid, Stack* stack, int64_t cpu_ns) override;
  void BeginCapture(int tid, int64_t cpu_ns, Stack* stack, NoStackReason* no_stack_reason) override;
  void Collect() override {}
  bool CaptureAsleep(int tid, Stack* stack, int activity_fd) override;
  bool CaptureRunning(int tid, Stack* stack, int64_t timeout_ns) override;
  int signal_number() const override { return 0; }
  bool ReadInterruptedCall(BlockedThread*) const override { return false; }
  RawStack* answer_for_test() override { return raw_.get(); }

 private:
  bool TryReadAsleep(int tid, int activity_fd);
  bool ReadStopped(int tid);
  bool ReadSaved(int tid);  // of a core file
  void ReadLiveStackAt(uint64_t pointer, RawStack* raw);
  StackRegions Regions();

  int64_t stop_timeout_ns_;
  base::MappedBlock<RawStack> raw_;  // one
  base::MappedBlock<MemoryRegion> regions_;
};

}  // namespace lagwatch::stack
