// SPDX-License-Identifier: Apache-2.0
#include "trace/record/reader/call_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/instrument/call_decoder.h"
#include "trace/record/arena.h"
#include "trace/record/reader/part_names.h"

namespace lagwatch::trace {
namespace {

class CallReader {
 public:
  CallReader(const Arena& arena, const CallPlaces& places, Trace* trace)
      : places_(places), trace_(trace), names_(arena) {
    const uint32_t count = arena.module_count();
    for (uint32_t i = 0; i < count; ++i) {
      const ArenaModule& facts = arena.modules()[i];
      modules_.push_back({i, facts.begin, facts.end, facts.load_bias});
    }
    std::ranges::stable_sort(modules_, {}, &Module::begin);
  }

  uint32_t FrameOf(const CallRecord& record) {
    const auto [place, is_new] =
        frames_.try_emplace({record.address, record.is_name}, static_cast<uint32_t>(trace_->frames.size()));
    if (is_new) trace_->frames.push_back(MakeFrame(record));
    return place->second;
  }

 private:
  // A copy: the program may still change what it has recorded.
  struct Module {
    uint32_t index = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t load_bias = 0;
  };

  NamedFrame MakeFrame(const CallRecord& record) {
    NamedFrame frame;
    const std::optional<Module> module = FindModule(record.address);
    frame.offset = module ? record.address - module->load_bias : record.address;
    if (module) frame.module = places_.module(module->index);
    if (record.is_name) {
      frame.name = names_.Find(record.address, module ? module->index : kNoIndex, frame.offset);
      if (!module) SetPart(&frame);
    } else if (module) {
      frame.function_offset = frame.offset;
    }
    return frame;
  }

  // A part whose name is in no module, on the heap for example: its address is another one in each run.
  void SetPart(NamedFrame* frame) {
    if (frame->name.empty()) frame->name = "(part without a readable name)";
    if (parts_module_ == kNoIndex) {
      parts_module_ = static_cast<uint32_t>(trace_->modules.size());
      trace_->modules.push_back({kPartsModule, "", 0});
    }
    frame->module = parts_module_;
    frame->offset = PartOffset(frame->name);
  }

  // The last one that was loaded there.
  std::optional<Module> FindModule(uint64_t address) const {
    auto after = std::ranges::upper_bound(modules_, address, {}, &Module::begin);
    while (after != modules_.begin()) {
      --after;
      if (address < after->end) return *after;
    }
    return std::nullopt;
  }

  const CallPlaces& places_;
  Trace* trace_;
  PartNames names_;
  uint32_t parts_module_ = kNoIndex;  // of the trace
  std::vector<Module> modules_;       // ascending by where they begin
  std::map<std::pair<uint64_t, bool>, uint32_t> frames_;
};

}  // namespace

void ReadCalls(const Arena& arena, const Window& window, const CallPlaces& places, Trace* trace) {
  const ArenaClock clock(arena.header().ticks);
  if (!clock.is_known()) return;
  CallReader reader(arena, places, trace);
  for (const auto& [tid, records] : ReadCalls(arena.call_pool())) {
    if (records.empty()) continue;
    Thread& thread = places.thread_of(tid);
    for (const CallRecord& record : records) {
      const int64_t time_ns = clock.ToMonoNs(record.ticks);
      if (time_ns < window.begin_ns || time_ns > window.end_ns) continue;
      thread.calls.push_back({time_ns, reader.FrameOf(record), record.is_enter});
      trace->end_ns = std::max(trace->end_ns, time_ns);
    }
  }
}

}  // namespace lagwatch::trace
