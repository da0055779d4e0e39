// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/splice.h"

#include <algorithm>
#include <array>

namespace lagwatch::stack {
namespace {

// A stack's frames in the making.
class FrameWriter {
 public:
  FrameWriter(const InterpreterPlace& place, const ScriptFrames& frames) : place_(place), frames_(frames) {}

  void AddNative(const Frame& frame) { Add(frame); }
  // The frames of one call of the evaluation function.
  void AddCall() {
    while (next_ < frames_.count && !AddScript().ends_call) {
    }
  }
  void AddRest() {
    while (next_ < frames_.count) AddScript();
  }
  bool has_scripts() const { return next_ != 0; }
  bool is_full() const { return count_ == kMaxFrames; }
  void CopyTo(Stack* stack) const {
    std::copy_n(written_.begin(), count_, stack->frames);
    stack->frame_count = count_;
  }

 private:
  const ScriptFrame& AddScript() {
    const ScriptFrame& frame = frames_.frames[next_++];
    Add({place_.language, frame.function + frame.line, frame.function});
    return frame;
  }
  void Add(const Frame& frame) {
    if (!is_full()) written_[count_++] = frame;
  }

  const InterpreterPlace& place_;
  const ScriptFrames& frames_;
  size_t next_ = 0;
  uint32_t count_ = 0;
  std::array<Frame, kMaxFrames> written_;
};

}  // namespace

void Splice(const InterpreterPlace& place, const ScriptFrames& frames, Stack* stack) {
  if (frames.count == 0) return;
  const auto is_call = [&](const Frame& frame) {
    return frame.module == place.module && frame.function_offset == place.evaluation;
  };
  const auto native = stack->view();
  const auto last_call = std::find_if(native.rbegin(), native.rend(), is_call);
  const stack::Frame* last = last_call == native.rend() ? nullptr : &*last_call;
  FrameWriter writer(place, frames);
  for (const Frame& frame : native) {
    if (is_call(frame)) {
      writer.AddCall();
      if (&frame == last) writer.AddRest();
    } else if (frame.module != place.module) {
      writer.AddNative(frame);
    }
  }
  writer.AddRest();
  writer.CopyTo(stack);
  // The interpreter's own calls say how the stack goes on where the native one does not.
  if (stack->completeness == Completeness::kIncomplete && !frames.is_cut)
    stack->completeness = Completeness::kComplete;
  if (frames.is_cut || writer.is_full()) stack->completeness = Completeness::kCut;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
}

}  // namespace lagwatch::stack
