// SPDX-License-Identifier: Apache-2.0
// Collects what the watchdog sees of the loops' frames into slices: one loop, one scene, 10 s at most.
//
// Finished slices are kept until there are some for a minute or no loop makes frames any more, so that a
// program that draws all day leaves one small file a minute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "policies/frame_levels.h"
#include "report/format/fixed_buffer.h"
#include "sdk/report/program_facts.h"
#include "sdk/run/text_cell.h"
#include "watchdog/events/hang_sink.h"

namespace lagwatch::sdk {

struct FrameSlice {
  static constexpr size_t kMaxLoopBytes = 32;

  char loop[kMaxLoopBytes];         // terminated
  char scene[TextCell::kMaxBytes];  // ends at the first NUL, if there is one
  uint64_t scene_number;            // as TextCell::Read returns it
  int64_t begin_mono_ns;            // when frames of it were seen first
  int64_t end_mono_ns;              // … and last
  int64_t refresh_interval_ns;      // the last frame's
  policies::FrameTotals frames;
};

// Loops of the same name are one. Context: watchdog; not thread-safe. Large: not for the stack.
class FrameSlices {
 public:
  // `scene` is what the program is at now. Frames of an earlier one that is not known any more count there.
  void Add(const watchdog::FrameEvent& event, const char (&scene)[TextCell::kMaxBytes],
           uint64_t scene_number);
  // Calls `write` for each slice that is to be written now; to be called at every round. `write`
  // takes a FrameSlice.
  template <typename Write>
  void WriteDue(int64_t now_ns, Write write) {
    FinishDue(now_ns);
    if (IsWriteDue(now_ns)) WriteFinished(write);
  }
  template <typename Write>
  void WriteAll(Write write) {
    FinishDue(INT64_MAX);
    WriteFinished(write);
  }

 private:
  static constexpr int64_t kSliceNs = watchdog::FrameEvent::kMaxCollectedNs;
  static constexpr int64_t kWritePeriodNs = 60 * base::kNsPerSecond;
  static constexpr size_t kMaxOpen = 64;
  static constexpr size_t kMaxFinished = 64;

  void FinishDue(int64_t now_ns);
  bool IsWriteDue(int64_t now_ns) const;
  void Finish(FrameSlice* open);
  template <typename Write>
  void WriteFinished(Write write) {
    for (size_t i = 0; i < finished_count_; ++i) write(finished_[i]);
    finished_count_ = 0;
  }

  size_t open_count_ = 0;
  size_t finished_count_ = 0;
  FrameSlice open_[kMaxOpen];
  FrameSlice finished_[kMaxFinished];
};

// Writes a FrameSlice record. False when it does not fit.
bool EncodeSlice(const FrameSlice& slice, const base::Uuid& id, const ProgramFacts& facts,
                 report::FixedBuffer* buffer);

}  // namespace lagwatch::sdk
