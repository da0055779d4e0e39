// SPDX-License-Identifier: Apache-2.0
// Writes a report into a fixed buffer, front to back, without allocation. Stacks are stored once: a stack
// equal to an earlier one of the report yields the earlier one's index.
//
//   ReportEncoder encoder(buffer);
//   encoder.SetHeader(header);
//   uint32_t stack = encoder.AddStack(frames, completeness);
//   encoder.AddSample({.age_ns = age_ns, .stack = stack});
//   if (encoder.ok()) spool.Append(RecordType::kReport, buffer.content());
//
// Context: watchdog. Not thread-safe. Built with exceptions because protozero's headers hold `throw`s; none
// can happen on the path of a writer over a FixedBuffer.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/uuid.h"
#include "policies/time_discount.h"
#include "policies/verdict.h"
#include "report/format/fixed_buffer.h"
#include "report/format/parts.h"

namespace lagwatch::report {

// So many frames are left out before the one with index `at`.
struct StackGap {
  uint32_t at = 0;
  uint64_t frame_count = 0;
};

class ReportEncoder {
 public:
  // Clears `buffer` and borrows it.
  explicit ReportEncoder(FixedBuffer* buffer);
  ReportEncoder(const ReportEncoder&) = delete;
  ReportEncoder& operator=(const ReportEncoder&) = delete;

  void SetHeader(const ReportHeader& header);
  // Returns the module's index. The caller adds each module once.
  uint32_t AddModule(std::string_view path, std::string_view build_id, uint64_t load_bias);
  // `frames` name modules by what AddModule returned. Returns the stack's index, or kNoStack when a report
  // can hold no more distinct stacks.
  uint32_t AddStack(std::span<const Frame> frames, Completeness completeness, StackGap gap = {});
  // Names the function of frames in a module that was added. The caller adds each once.
  void AddSymbol(uint32_t module, uint64_t function_offset, std::string_view name);
  void AddSample(const Sample& sample);
  void SetExpensiveStack(uint32_t stack);
  void AddThread(const ThreadView& thread);
  void SetThreadsDropped(uint32_t count);

  void AddWait(const WaitView& wait);
  void SetWaitOutcome(WaitOutcome outcome);
  void SetVerdict(const policies::Verdict& verdict);
  void SetDiscount(const policies::DiscountedTime& findings);
  // Oldest first.
  void AddPastDispatch(const PastDispatchView& dispatch);
  void AddNumber(std::string_view name, int64_t number);
  void AddText(std::string_view name, std::string_view text);

  // False once anything did not fit.
  bool ok() const { return !buffer_->overflowed(); }

  // A state to come back to when what was added since does not fit.
  struct Mark {
    size_t size_bytes;
    uint32_t module_count;
    uint32_t stack_count;
  };
  Mark mark() const { return {buffer_->size(), module_count_, stack_count_}; }
  void RewindTo(const Mark& mark);

 private:
  static constexpr uint32_t kMaxStacks = 1024;

  FixedBuffer* buffer_;
  FixedWriter writer_;
  uint32_t module_count_ = 0;
  uint32_t stack_count_ = 0;
  std::array<uint64_t, kMaxStacks> stack_hashes_;  // equal hashes are taken as equal stacks
};

// Names a function of the encoded report in `buffer`, as AddSymbol() does.
void AppendSymbol(uint32_t module, uint64_t function_offset, std::string_view name, FixedBuffer* buffer);

// The size of a buffer in which every HangEnd record fits.
inline constexpr size_t kMaxHangEndBytes = 128;
// Writes a HangEnd record. False when it does not fit.
bool EncodeHangEnd(const base::Uuid& report_id, int64_t duration_ns, FixedBuffer* buffer,
                   bool is_blamed = false);

// Writes a FrameSlice record. False when it does not fit.
bool EncodeFrameSlice(const FrameSliceView& slice, FixedBuffer* buffer);

}  // namespace lagwatch::report
