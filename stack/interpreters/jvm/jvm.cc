// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/jvm/jvm.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace lagwatch::stack::jvm {

void Jvm::LookAt(const LoadedModule& loaded, CodeMap* code) {
  // The reader knows the frames of processors whose calls push the return address.
  if constexpr (Registers::kReturnAddress != Registers::kProgramCounter) return;
  if (found_ != nullptr || loaded.exports.Find("gHotSpotVMStructs") == 0) return;
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  std::construct_at(&found[0]);
  bool is_hotspot = false;
  if (!found[0].reader.Attach(memory_, loaded.exports, &is_hotspot)) {
    if (is_hotspot)
      std::snprintf(unreadable_, sizeof unreadable_, "java %d", found[0].reader.major_version());
    return;
  }
  found[0].module = loaded.index;
  found[0].language = code->AddLanguage("[java]");
  if (found[0].language != kNoModule) found_ = std::move(found);
}

void Jvm::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr) return;
  Found& found = found_[0];
  const auto may_be_java = [&](const Frame& frame) {
    return frame.module == found.module || frame.module == kNoModule;
  };
  if (stack->frame_count != 0 && std::ranges::none_of(stack->view(), may_be_java)) return;
  if (found.reader.Read(thread.tid, thread.raw, &code->script_functions(), &found.frames))
    Splice(found.frames, found.module, found.language, stack);
}

std::optional<ScriptLock> Jvm::FindLock(int tid, uint64_t) {
  if (found_ == nullptr) return std::nullopt;
  Reader::Monitor lock = found_[0].reader.FindMonitor(tid);
  const bool is_monitor = lock.owner_tid != 0;
  if (!is_monitor) lock = found_[0].reader.FindParkedLock(tid);
  if (lock.owner_tid == 0) return std::nullopt;
  return ScriptLock{.address = lock.address,
                    .turn = 0,
                    .owner_tid = lock.owner_tid,
                    .kind = policies::LockKind::kMutex,
                    .may_time_out = !is_monitor};
}

ScriptWait Jvm::FindWait(int tid, CodeMap* code) {
  if (found_ == nullptr || !found_[0].reader.HasThread(tid)) return ScriptWait::kUnknown;
  if (found_[0].reader.IsCollecting()) return ScriptWait::kGc;
  const bool is_asleep = found_[0].reader.IsAsleep(tid, &code->script_functions(), &found_[0].frames);
  return is_asleep ? ScriptWait::kSleep : ScriptWait::kUnknown;
}

const char* Jvm::GcCause() {
  gc_cause_[0] = '\0';
  if (found_ != nullptr) found_[0].reader.ReadGcCause(gc_cause_, sizeof gc_cause_);
  return gc_cause_;
}

void Splice(const ScriptFrames& frames, uint32_t jvm_module, uint32_t language, Stack* stack) {
  if (frames.count == 0) return;
  uint32_t count = 0;
  for (uint32_t i = 0; i < stack->frame_count && stack->frames[i].module != kNoModule; ++i) {
    if (stack->frames[i].module != jvm_module) stack->frames[count++] = stack->frames[i];
  }
  bool is_cut = frames.is_cut;
  for (size_t i = 0; i < frames.count; ++i) {
    if (count == kMaxFrames) {
      is_cut = true;
      break;
    }
    const ScriptFrame& frame = frames.frames[i];
    stack->frames[count++] = {language, frame.function + frame.line, frame.function};
  }
  stack->frame_count = count;
  stack->completeness = is_cut ? Completeness::kCut : Completeness::kComplete;
  stack->gap_at = 0;
  stack->gap_frame_count = 0;
}

}  // namespace lagwatch::stack::jvm
