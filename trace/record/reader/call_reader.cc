// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/process/safe_memory.h"
#include "stack/elf/elf_file.h"
#include "trace/instrument/call_decoder.h"
#include "trace/record/arena.h"
#include "trace/record/reader/arena_reader.h"

namespace lagwatch::trace {
namespace {

// The module that holds named parts whose text is in no module's constants. It has no build id; a frame's
// offset is a hash of its name, so that the same part is the same place in each run.
constexpr char kPartsModule[] = "[parts]";

uint64_t PartOffset(const std::string& name) {
  constexpr int kUnusedBits = 24;  // small numbers are shorter in a report
  return base::HashBytes(name) >> kUnusedBits | 1;
}

// The texts of names that a program gave to parts of its work, by their addresses in it.
class PartNames {
 public:
  // `arena` is borrowed.
  explicit PartNames(const Arena& arena) : arena_(arena), is_own_(arena.header().pid == getpid()) {}

  // The name at `address`: the process's own memory where it is the recorded one, as names stay readable for
  // as long as it runs; else the constants of `module`, an index in the arena, at `offset`, if its file is
  // still there. Empty where neither is known. kNoIndex: in no module.
  std::string Find(uint64_t address, uint32_t module, uint64_t offset) {
    constexpr size_t kMaxNameBytes = 255;
    if (is_own_) {
      char text[kMaxNameBytes + 1];
      base::ReadOwnString(address, text, sizeof text);
      if (text[0] != '\0') return text;
    }
    if (module == kNoIndex) return {};
    const std::optional<stack::ElfFile>& file = FileOf(module);
    return file ? file->ReadConstantText(offset, kMaxNameBytes).value_or("") : "";
  }

 private:
  const std::optional<stack::ElfFile>& FileOf(uint32_t module) {
    const auto [place, is_new] = files_.try_emplace(module);
    if (is_new) {
      const ArenaModule& facts = arena_.modules()[module];
      const std::string path(facts.path, std::min<size_t>(facts.path_size, sizeof facts.path));
      const std::string build_id(reinterpret_cast<const char*>(facts.build_id),
                                 std::min<size_t>(facts.build_id_size, sizeof facts.build_id));
      if (auto file = stack::ElfFile::OpenBuild(path, build_id)) place->second.emplace(std::move(*file));
    }
    return place->second;
  }

  const Arena& arena_;
  bool is_own_;
  std::map<uint32_t, std::optional<stack::ElfFile>> files_;
};

class CallReader {
 public:
  CallReader(const Arena& arena, const CallPlaces& places, Trace* trace)
      : places_(places), trace_(trace), names_(arena) {
    const uint32_t count = arena.module_count();
    for (uint32_t i = 0; i < count; ++i) {
      const ArenaModule& facts = arena.modules()[i];
      modules_.push_back({i, facts.begin, facts.end, facts.load_bias});
    }
    std::ranges::stable_sort(modules_, {}, &ModuleCopy::begin);
  }

  uint32_t FrameOf(const CallRecord& record) {
    const auto [place, is_new] =
        frames_.try_emplace({record.address, record.is_name}, static_cast<uint32_t>(trace_->frames.size()));
    if (is_new) trace_->frames.push_back(MakeFrame(record));
    return place->second;
  }

 private:
  // A copy: the program may still change what it has recorded.
  struct ModuleCopy {
    uint32_t index = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t load_bias = 0;
  };

  NamedFrame MakeFrame(const CallRecord& record) {
    NamedFrame frame;
    const std::optional<ModuleCopy> module = FindModule(record.address);
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
  std::optional<ModuleCopy> FindModule(uint64_t address) const {
    auto after = std::ranges::upper_bound(modules_, address, {}, &ModuleCopy::begin);
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
  std::vector<ModuleCopy> modules_;   // ascending by where they begin
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
