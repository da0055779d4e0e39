// SPDX-License-Identifier: Apache-2.0
#include "trace/record/reader/arena_reader.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/model/functions.h"
#include "trace/record/run_codec.h"
#include "trace/record/stack_table.h"
#include "trace/record/thread_places.h"

namespace lagwatch::trace {
namespace {

constexpr uint32_t kIndexMask = (1U << kStackIndexBits) - 1;

// Joins the begins and the ends of dispatches, which a recording has separately.
class DispatchJoiner {
 public:
  // In any order.
  void Add(const RunRecord& record) {
    if (record.end_ns < record.begin_ns) return;  // damaged
    SeenDispatch entry{{record.dispatch, record.begin_ns, record.end_ns, std::string(record.tag)},
                       record.is_complete};
    const auto [place, is_new] = entries_[record.tid].try_emplace(record.dispatch, entry);
    if (!is_new && entry.has_ended) place->second = std::move(entry);
  }
  // All dispatches, each once, by thread and ascending. One without an end lasts until the next one of its
  // thread begins, or until `end_ns`.
  std::map<int32_t, std::vector<Dispatch>> Take(int64_t end_ns) const {
    std::map<int32_t, std::vector<Dispatch>> all;
    for (const auto& [tid, entries] : entries_) {
      std::vector<SeenDispatch> sorted;
      for (const auto& [id, entry] : entries) sorted.push_back(entry);
      std::ranges::stable_sort(sorted, {}, [](const SeenDispatch& entry) { return entry.dispatch.begin_ns; });
      for (size_t i = 0; i < sorted.size(); ++i) {
        Dispatch& dispatch = sorted[i].dispatch;
        const int64_t next_ns = i + 1 < sorted.size() ? sorted[i + 1].dispatch.begin_ns : end_ns;
        if (!sorted[i].has_ended) dispatch.end_ns = std::max(next_ns, dispatch.begin_ns);
        all[tid].push_back(dispatch);
      }
    }
    return all;
  }

 private:
  struct SeenDispatch {
    Dispatch dispatch;
    bool has_ended;
  };
  std::map<int32_t, std::map<uint32_t, SeenDispatch>> entries_;  // by thread, then by id
};

// Gives modules, frames and stacks of the arena their places in the trace, as they are needed.
class CodeReader {
 public:
  CodeReader(const Arena& arena, Trace* trace) : arena_(arena), trace_(trace) {
    for (int half = 0; half < 2; ++half) {
      if (!CopyStackGeneration(arena, half, &generations_[half])) generations_[half].nodes.clear();
      nodes_[half].resize(generations_[half].nodes.size(), kNoIndex);
    }
  }

  // Index of the node for StackTable's id; kNoIndex when it was forgotten.
  uint32_t Stack(uint32_t id) {
    const uint32_t generation = id >> kStackIndexBits;
    const int half = static_cast<int>(generation % 2);
    if (static_cast<uint8_t>(generations_[half].number) != generation) return kNoIndex;
    return Node(half, id & kIndexMask);
  }

  // The hooked call itself, below its caller. By name: only its kind is known.
  uint32_t Call(uint32_t caller, CallKind call) {
    const auto [place, is_new] = calls_.try_emplace({caller, call}, kNoIndex);
    if (!is_new) return place->second;
    const auto [frame, is_new_frame] =
        call_frames_.try_emplace(call, static_cast<uint32_t>(trace_->frames.size()));
    if (is_new_frame) trace_->frames.emplace_back().name = "(" + std::string(NameOf(call)) + ")";
    trace_->nodes.push_back({caller, frame->second});
    return place->second = static_cast<uint32_t>(trace_->nodes.size() - 1);
  }

  // Of the trace, by index in the arena.
  uint32_t ModuleOf(uint32_t index) {
    if (index >= arena_.module_count()) return kNoIndex;
    const auto [place, is_new] = modules_.try_emplace(index, static_cast<uint32_t>(trace_->modules.size()));
    if (!is_new) return place->second;
    const ArenaModule& module = arena_.modules()[index];
    trace_->modules.push_back(
        {std::string(module.path, std::min<size_t>(module.path_size, sizeof module.path)),
         std::string(reinterpret_cast<const char*>(module.build_id),
                     std::min<size_t>(module.build_id_size, sizeof module.build_id)),
         module.load_bias});
    return place->second;
  }

  // A tag that is a function's address, "&0x5581", becomes its place in a module, "editor+0x1f".
  void PlaceTag(std::string* tag) {
    constexpr std::string_view kAddress = "&0x";
    constexpr int kHexadecimal = 16;
    if (!tag->starts_with(kAddress)) return;
    uint64_t address = 0;
    const char* end = tag->data() + tag->size();
    const auto parsed = std::from_chars(tag->data() + kAddress.size(), end, address, kHexadecimal);
    if (parsed.ec != std::errc() || parsed.ptr != end) return;
    for (uint32_t i = 0; i < arena_.module_count(); ++i) {
      const ArenaModule& module = arena_.modules()[i];
      if (address < module.begin || address >= module.end) continue;
      const std::string& path = trace_->modules[ModuleOf(i)].path;
      char offset[24];
      std::snprintf(offset, sizeof offset, "+0x%" PRIx64, address - module.load_bias);
      *tag = path.substr(path.rfind('/') + 1) + offset;
      return;
    }
  }

 private:
  uint32_t Node(int half, uint32_t index) {
    const std::vector<StackNodeBytes>& source = generations_[half].nodes;
    path_.clear();
    while (index != 0 && index < source.size() && nodes_[half][index] == kNoIndex) {
      path_.push_back(index);
      const uint32_t parent = source[index].parent;
      if (parent >= index) return kNoIndex;  // damaged
      index = parent;
    }
    if (index >= source.size()) return kNoIndex;
    uint32_t node = index == 0 ? kNoIndex : nodes_[half][index];
    for (size_t i = path_.size(); i-- != 0;) {
      if (!IsOurs(source[path_[i]])) {
        trace_->nodes.push_back({node, FrameOf(source[path_[i]])});
        node = static_cast<uint32_t>(trace_->nodes.size() - 1);
      }
      nodes_[half][path_[i]] = node;
    }
    return node == kNoIndex && !path_.empty() ? NodeInHook() : node;
  }

  // A look that saw nothing but a hook: what called it was not known how to unwind yet.
  uint32_t NodeInHook() {
    if (node_in_hook_ == kNoIndex) {
      node_in_hook_ = static_cast<uint32_t>(trace_->nodes.size());
      trace_->nodes.push_back({kNoIndex, static_cast<uint32_t>(trace_->frames.size())});
      trace_->frames.emplace_back().name = "(lagwatch)";
    }
    return node_in_hook_;
  }

  // A hook that the program went through, seen from outside.
  bool IsOurs(const StackNodeBytes& node) const {
    if (node.flags == StackNodeBytes::kAddress || node.module >= arena_.module_count()) return false;
    const ArenaModule& module = arena_.modules()[node.module];
    const std::string_view path(module.path, std::min<size_t>(module.path_size, sizeof module.path));
    return path.ends_with("/liblagwatch-preload.so") ||
           path.ends_with("/liblagwatch-preload.so (deleted)");  // from memory, in a container
  }

  uint32_t FrameOf(const StackNodeBytes& node) {
    NamedFrame frame;
    if (node.flags == StackNodeBytes::kAddress) {
      frame.offset = node.offset | uint64_t{node.function_offset} << 32;
    } else {
      frame.module = ModuleOf(node.module);
      frame.offset = node.offset;
      frame.function_offset = node.function_offset;
      if (node.flags == StackNodeBytes::kScript) NameScript(&frame);
    }
    const auto [place, is_new] =
        frames_.try_emplace(std::tuple(frame.module, frame.offset, frame.function_offset),
                            static_cast<uint32_t>(trace_->frames.size()));
    if (is_new) trace_->frames.push_back(std::move(frame));
    return place->second;
  }

  // As reports have it.
  void NameScript(NamedFrame* frame) const {
    const uint64_t index = frame->function_offset - 1;
    frame->line = static_cast<uint32_t>(frame->offset);
    if (index >= arena_.function_count()) return;
    const ArenaFunction& function = arena_.functions()[index];
    frame->function_offset = function.number;
    frame->offset += function.number;
    frame->file.assign(function.file, std::min<size_t>(function.file_size, sizeof function.file));
    frame->name.assign(function.name, std::min<size_t>(function.name_size, sizeof function.name));
    if (!frame->file.empty()) frame->name += " (" + frame->file + ")";
  }

  const Arena& arena_;
  Trace* trace_;
  StackGenerationCopy generations_[2];
  std::vector<uint32_t> nodes_[2];  // of the trace, by index in the generation
  std::map<std::tuple<uint32_t, uint64_t, uint64_t>, uint32_t> frames_;
  std::unordered_map<uint32_t, uint32_t> modules_;
  std::map<std::pair<uint32_t, CallKind>, uint32_t> calls_;  // nodes
  std::map<CallKind, uint32_t> call_frames_;
  uint32_t node_in_hook_ = kNoIndex;
  std::vector<uint32_t> path_;
};

class ArenaReader {
 public:
  // `memory` may be null.
  ArenaReader(const Arena& arena, const Window& window, ArenaFollower::Memory* memory)
      : arena_(arena), window_(window), memory_(memory), code_(arena, &trace_) {}

  Trace Read() {
    ReadHeader();
    ReadThreads();
    ReadPool(arena_.main_pool(), memory_ == nullptr ? nullptr : &memory_->main_blocks);
    ReadPool(arena_.worker_pool(), memory_ == nullptr ? nullptr : &memory_->worker_blocks);
    const CallPlaces places{[this](uint32_t module) { return code_.ModuleOf(module); },
                            [this](int32_t tid) -> Thread& { return ThreadOf(tid); }};
    ReadCalls(arena_, window_, places, &trace_);
    AddDispatches();
    for (Thread& thread : trace_.threads)
      std::ranges::stable_sort(thread.runs, {},
                               [](const Run& run) { return std::pair(run.begin_ns, -run.end_ns); });
    std::erase_if(trace_.threads, [](const Thread& thread) {
      return (thread.runs.empty() && thread.calls.empty() && thread.dispatches.empty()) ||
             thread.name.starts_with("lagwatch");
    });
    std::ranges::sort(trace_.threads, [this](const Thread& a, const Thread& b) {
      return std::pair(a.tid != trace_.pid, a.tid) < std::pair(b.tid != trace_.pid, b.tid);
    });
    ReportLosses();
    return std::move(trace_);
  }

 private:
  void ReadHeader() {
    const ArenaHeader& header = arena_.header();
    trace_.pid = header.pid;
    trace_.process_name =
        std::string(header.process_name, strnlen(header.process_name, sizeof header.process_name));
    trace_.begin_ns = std::max(window_.begin_ns, header.begin_mono_ns);
    trace_.end_ns = std::max(std::min(window_.end_ns, header.last_mono_ns.load()), trace_.begin_ns);
    trace_.wall_minus_mono_ns = header.wall_minus_mono_ns;
    trace_.boot_minus_mono_ns = header.boot_minus_mono_ns;
    trace_.sample_interval_ns = std::max(header.main_interval_ns.load(), header.worker_interval_ns.load());
  }

  // Names, and the runs that go on.
  void ReadThreads() {
    for (uint64_t i = 0; i < arena_.layout().thread_capacity; ++i) {
      ThreadCopy copy;
      if (!CopyThread(arena_.threads()[i], &copy)) continue;
      ThreadOf(copy.tid).name = copy.name;
      if (copy.open.count == 0) continue;
      RunRecord run{};
      run.begin_ns = copy.open.begin_ns;
      run.end_ns = copy.open.end_ns;
      run.tid = copy.tid;
      run.count = copy.open.count;
      run.stack = copy.open.stack;
      run.dispatch = copy.open.dispatch;
      run.is_complete = copy.open.is_complete != 0;
      AddRun(run);
    }
  }

  void ReadPool(const BlockPool& pool, std::vector<ArenaFollower::Seen>* seen) {
    const auto block = std::make_unique<Block>();
    if (seen != nullptr) seen->resize(pool.block_count());
    for (uint64_t i = 0; i < pool.block_count(); ++i) {
      const BlockPool::Fill fill = pool.FillOf(i);  // before it is copied, which may find more
      if (seen != nullptr && (*seen)[i].fill == fill && (*seen)[i].last_end_ns < window_.begin_ns) continue;
      if (!pool.Copy(i, block.get()) || block->kind != BlockKind::kRuns) continue;
      const int64_t last_end_ns = ReadRuns(*block);
      if (seen != nullptr) (*seen)[i] = {fill, last_end_ns};
    }
  }

  // The last end of its runs.
  int64_t ReadRuns(const Block& block) {
    int64_t last_end_ns = INT64_MIN;
    RunCodecState state{static_cast<int64_t>(block.base), 0, 0, 0, {}};
    const size_t used_bytes = block.used_bytes.load(std::memory_order_relaxed);  // a copy of our own
    for (size_t at = 0; at < used_bytes;) {
      RunRecord run;
      const size_t size_bytes = DecodeRun(block.bytes + at, used_bytes - at, &state, &run);
      if (size_bytes == 0) break;
      at += size_bytes;
      last_end_ns = std::max(last_end_ns, run.end_ns);
      run.is_dispatch() ? dispatches_.Add(run) : AddRun(run);
    }
    return last_end_ns;
  }

  void AddRun(const RunRecord& record) {
    if (record.end_ns < window_.begin_ns || record.begin_ns > window_.end_ns ||
        record.end_ns < record.begin_ns)
      return;
    Run run;
    run.stack = code_.Stack(record.stack);
    if (run.stack == kNoIndex) {
      forgotten_ += record.count;
      return;
    }
    run.begin_ns = record.begin_ns;
    run.end_ns = record.end_ns;
    run.count = record.count;
    run.dispatch = record.dispatch;
    run.kind = static_cast<RunKind>(record.kind & 3);
    if (record.call <= static_cast<uint8_t>(CallKind::kUser)) run.call = static_cast<CallKind>(record.call);
    if (run.kind != RunKind::kSampled && run.call != CallKind::kNone && run.call != CallKind::kUser)
      run.stack = code_.Call(run.stack, run.call);
    run.object = record.object;
    run.is_for_all = record.is_for_all;
    run.is_running = record.is_running;
    run.is_complete = record.is_complete;
    if (record.has_totals) run.totals = record.totals;
    trace_.end_ns = std::max(trace_.end_ns, std::min(run.end_ns, window_.end_ns));
    ThreadOf(record.tid).runs.push_back(run);
  }

  void AddDispatches() {
    for (auto& [tid, dispatches] : dispatches_.Take(trace_.end_ns)) {
      std::erase_if(dispatches, [this](const Dispatch& dispatch) {
        return dispatch.end_ns < window_.begin_ns || dispatch.begin_ns > window_.end_ns;
      });
      for (Dispatch& dispatch : dispatches) code_.PlaceTag(&dispatch.tag);
      if (!dispatches.empty()) ThreadOf(tid).dispatches = std::move(dispatches);
    }
  }

  Thread& ThreadOf(int32_t tid) {
    const auto [place, is_new] = threads_.try_emplace(tid, trace_.threads.size());
    if (is_new) trace_.threads.emplace_back().tid = tid;
    return trace_.threads[place->second];
  }

  void ReportLosses() {
    const RecordCounters& counters = arena_.header().counters;
    auto report = [this](std::string what, uint64_t count, std::string remedy) {
      if (count != 0) trace_.losses.push_back({std::move(what), count, std::move(remedy)});
    };
    if (memory_ == nullptr) {
      report("blocks of the main thread overwritten", arena_.main_pool().header().overwritten_count.load(),
             "--main-mib");
      report("blocks of other threads overwritten", arena_.worker_pool().header().overwritten_count.load(),
             "--worker-mib");
      report("blocks of calls overwritten", arena_.call_pool().header().overwritten_count.load(),
             "--call-mib");
    }
    report("patched functions left out, because they were called too often",
           counters.functions_too_hot.value(), "--call-limit");
    report("samples whose stacks were overwritten", forgotten_ + counters.stacks_refused.value(),
           "--stack-mib");
    report("samples without room", counters.runs_refused.value(), "--worker-mib");
    report("captures without an answer", counters.no_answer.value(), "");
    report("threads that were not sampled while they ran", counters.timers_refused.value(), "");
    report("dispatches whose times were not kept", counters.dispatches_refused.value(), "");
    report("samples between two dispatches", counters.between_dispatches.value(), "");
    report("samples left out, because the machine was busy", counters.late_ticks.value(), "--interval-ms");
    report("threads without a place", counters.threads_refused.value(), "");
    report("frames of scripts without a function", counters.functions_refused.value(), "");
    report("samples without script frames", counters.copies_refused.value(), "--interval-ms");
    report("modules without a place", counters.modules_refused.value(), "");
    report("captures in hooked calls without room", counters.captures_dropped.value(), "--hook-interval-ms");
  }

  const Arena& arena_;
  Window window_;
  ArenaFollower::Memory* memory_;
  Trace trace_;
  CodeReader code_;
  DispatchJoiner dispatches_;
  std::unordered_map<int32_t, size_t> threads_;
  uint64_t forgotten_ = 0;
};

}  // namespace

Trace ReadArena(const Arena& arena, const Window& window) {
  return ArenaReader(arena, window, nullptr).Read();
}

Trace ArenaFollower::Read(const Window& window) { return ArenaReader(*arena_, window, &memory_).Read(); }

}  // namespace lagwatch::trace
