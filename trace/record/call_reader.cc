// SPDX-License-Identifier: Apache-2.0
#include "trace/record/call_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stack/elf/elf_file.h"
#include "trace/instrument/call_decoder.h"
#include "trace/record/arena.h"

namespace lagwatch::trace {
namespace {

class CallReader {
 public:
  CallReader(const Arena& arena, const CallPlaces& places, Trace* trace)
      : arena_(arena), places_(places), trace_(trace) {
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
    frame.offset = record.address;
    if (!module) return frame;
    frame.offset -= module->load_bias;
    if (record.is_name) {
      frame.name = TextAt(module->index, frame.offset);
    } else {
      frame.function_offset = frame.offset;
    }
    frame.module = places_.module(module->index);
    return frame;
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

  // The text at a place among the module's constants; empty when there is none.
  std::string TextAt(uint32_t module, uint64_t offset) {
    const auto [place, is_new] = constants_.try_emplace(module);
    if (is_new) {
      const ArenaModule& facts = arena_.modules()[module];
      const std::string path(facts.path, std::min<size_t>(facts.path_size, sizeof facts.path));
      const std::string build_id(reinterpret_cast<const char*>(facts.build_id),
                                 std::min<size_t>(facts.build_id_size, sizeof facts.build_id));
      const auto file = stack::ElfFile::OpenBuild(path, build_id);
      if (file) place->second = file->ReadSection(".rodata");
    }
    const std::optional<stack::ElfSection>& section = place->second;
    if (!section || offset < section->address || offset - section->address >= section->bytes.size())
      return {};
    const std::string_view rest = std::string_view(section->bytes).substr(offset - section->address);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  const Arena& arena_;
  const CallPlaces& places_;
  Trace* trace_;
  std::vector<Module> modules_;  // ascending by where they begin
  std::map<std::pair<uint64_t, bool>, uint32_t> frames_;
  std::map<uint32_t, std::optional<stack::ElfSection>> constants_;
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
