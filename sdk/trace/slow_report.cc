// SPDX-License-Identifier: Apache-2.0
#include "sdk/trace/slow_report.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "policies/cluster/cause_key.h"
#include "report/format/report.h"
#include "trace/model/call_tree.h"
#include "trace/model/functions.h"
#include "trace/model/slices.h"
#include "trace/record/arena_reader.h"

namespace lagwatch::sdk {
namespace {

using trace::CallNode;
using trace::CallTree;
using trace::Trace;

constexpr size_t kBufferBytes = 256 << 10;
// Of the outermost functions that only lead to the first branch of the tree, so many are shown.
constexpr size_t kMaxStemNodes = 3;

template <size_t kSize>
void CopyText(const char* text, std::array<char, kSize>* place) {
  const size_t size = strnlen(text, kSize - 1);
  std::memcpy(place->data(), text, size);
  (*place)[size] = '\0';
}

// Calls of the sampled thread's functions, derived from its slices. Frames without a place in the code are
// left out, such as the hooked call that a thread captured its stack in.
std::vector<trace::CallEvent> CallsOfSamples(const Trace& trace, uint32_t thread) {
  const std::vector<uint32_t> functions = trace::FunctionNumbers(trace);
  std::vector<uint32_t> first_frames(trace.frames.size(), trace::kNoIndex);  // by function
  const trace::Track track = trace::BuildSampledTrack(trace, thread, functions);
  std::vector<trace::CallEvent> calls;
  auto add = [&](uint32_t slice, int64_t time_ns, bool is_enter) {
    const uint32_t frame = track.slices[slice].frame;
    if (trace.frames[frame].module == trace::kNoIndex) return;
    uint32_t& first = first_frames[functions[frame]];
    if (first == trace::kNoIndex) first = frame;
    calls.push_back({time_ns, first, is_enter});
  };
  trace::WalkTrack(
      track, [&](uint32_t slice) { add(slice, track.slices[slice].begin_ns, true); },
      [&](uint32_t slice) { add(slice, track.slices[slice].end_ns, false); });
  return calls;
}

int64_t CoveredNs(const CallTree& tree) {
  int64_t covered_ns = 0;
  for (const CallNode& node : tree)
    if (node.depth == 0) covered_ns += node.total_ns;
  return covered_ns;
}

// Takes the outermost functions off that have one callee each, which takes nearly all of their time; and what
// else there is beside them, which is little.
CallTree WithoutStem(const CallTree& tree, size_t kept) {
  constexpr int64_t kPercent = 95;
  const auto longest = std::ranges::max_element(
      tree, {}, [](const CallNode& node) { return node.depth == 0 ? node.total_ns : -1; });
  if (longest == tree.end() || longest->total_ns < CoveredNs(tree) / 100 * kPercent) return tree;
  auto is_root = [](const CallNode& node) { return node.depth == 0; };
  const std::span<const CallNode> whole(longest, std::find_if(longest + 1, tree.end(), is_root));
  // Of the stem's nodes the longest child, with what it called.
  size_t at = 0;
  size_t end = whole.size();
  std::vector<size_t> stem;
  for (;;) {
    size_t child = end;
    for (size_t i = at + 1; i < end; ++i) {
      const bool is_child = whole[i].depth == whole[at].depth + 1;
      if (is_child && whole[i].total_ns >= whole[at].total_ns / 100 * kPercent) child = i;
    }
    if (child == end) break;
    stem.push_back(at);
    at = child;
    for (size_t i = child + 1; i < end; ++i)
      if (whole[i].depth <= whole[child].depth) end = i;
  }
  const size_t first = stem.size() > kept ? stem[stem.size() - kept] : 0;
  CallTree rest;
  for (size_t i = first; i < whole.size() && (i == first || whole[i].depth > whole[first].depth); ++i) {
    rest.push_back(whole[i]);
    rest.back().depth -= whole[first].depth;
  }
  return rest;
}

class SlowReportWriter {
 public:
  SlowReportWriter(const Trace& trace, const SlowRequest& request, const ProgramFacts& program)
      : trace_(trace),
        request_(request),
        program_(program),
        bytes_(kBufferBytes, '\0'),
        buffer_(bytes_.data(), bytes_.size()),
        encoder_(&buffer_),
        modules_(trace.modules.size(), report::kNoModule) {}

  std::optional<SlowReport> Write(const CallTree& tree, bool has_calls) {
    SlowReport report;
    report.id = base::CreateUuidV7(base::SystemClock().WallMs());
    SetHeader(report.id);
    AddFacts(has_calls);
    const std::vector<uint32_t> heavy = HeavyPathOf(tree);
    AddTree(trace::TrimCallTree(tree), has_calls);
    encoder_.SetExpensiveStack(AddPath(heavy));
    if (!encoder_.ok()) return std::nullopt;
    report.cause = CauseOf(heavy);
    report.payload = std::string(buffer_.content());
    for (const report::Symbol& symbol : symbols_) report::AppendSymbol(symbol, &report.payload);
    if (!report::EncodeHangEnd(report.id, request_.wall_ns, &buffer_)) return std::nullopt;
    report.end = std::string(buffer_.content());
    return report;
  }

 private:
  void SetHeader(const base::Uuid& id) {
    const policies::Scrubber& scrubber = program_.scrubber;
    const int64_t begin_wall_ms = (request_.begin_ns + trace_.wall_minus_mono_ns) / base::kNsPerMs;
    const policies::ScrubbedText loop = scrubber.Text(request_.loop.data());
    const policies::ScrubbedText tag = scrubber.Text(request_.tag.data());
    report::ReportHeader header{.id = id,
                                .hang_id = id,
                                .tid = static_cast<uint32_t>(request_.tid),
                                .loop = loop.view(),
                                .tag = tag.view(),
                                .kind = report::HangKind::kSlow,
                                .threshold_ms = static_cast<uint32_t>(request_.threshold_ns / base::kNsPerMs),
                                .start_wall_ms = begin_wall_ms,
                                .elapsed_ns = request_.wall_ns,
                                .cpu_window_ns = request_.wall_ns,
                                .cpu_thread_ns = request_.cpu_ns};
    program_.Fill(&header);
    encoder_.SetHeader(header);
  }

  void AddFacts(bool has_calls) {
    encoder_.AddText("tree_of", has_calls ? "calls" : "samples");
    if (request_.cpu_ns != 0 && request_.wall_ns != 0)
      encoder_.AddNumber("cpu_percent", 100 * request_.cpu_ns / request_.wall_ns);
    for (const watchdog::Fact& fact : std::span(request_.facts).first(request_.fact_count)) {
      fact.text == nullptr ? encoder_.AddNumber(fact.name, fact.number)
                           : encoder_.AddText(fact.name, program_.scrubber.Text(fact.text).view());
    }
    AddProgramContext(ProcessWords(), program_.scrubber, &encoder_);
  }

  // The functions that the dispatch is about, outermost first: where none stands out, those down to the one
  // that took most.
  std::vector<uint32_t> HeavyPathOf(const CallTree& tree) const {
    constexpr double kShares[] = {0.3, 0.1, 0.0};
    std::vector<uint32_t> path;
    for (const double share : kShares) {
      path = trace::HeavyPath(tree, request_.wall_ns, share);
      if (!path.empty()) break;
    }
    return path;
  }

  // A sample for each node: its stack, and the time that it spent itself.
  void AddTree(const CallTree& tree, bool has_calls) {
    std::vector<uint32_t> path;
    for (size_t i = 0; i < tree.size(); ++i) {
      path.resize(tree[i].depth);
      path.push_back(tree[i].frame);
      int64_t self_ns = tree[i].total_ns;
      for (size_t j = i + 1; j < tree.size() && tree[j].depth > tree[i].depth; ++j)
        if (tree[j].depth == tree[i].depth + 1) self_ns -= tree[j].total_ns;
      encoder_.AddSample(
          {.stack = AddPath(path), .wall_ns = self_ns, .calls = has_calls ? uint64_t{tree[i].count} : 0});
    }
  }

  // `path` is outermost first.
  uint32_t AddPath(std::span<const uint32_t> path) {
    std::vector<report::Frame> frames;
    for (auto index = path.rbegin(); index != path.rend(); ++index) {
      const trace::NamedFrame& frame = trace_.frames[*index];
      // A part that the program named is where its name is.
      const bool is_named = !frame.name.empty();
      const uint32_t module = ModuleOf(frame);
      frames.push_back({module, frame.offset, is_named ? frame.offset : frame.function_offset});
      if (is_named && module != report::kNoModule) AddSymbol(module, frame);
    }
    const auto completeness = frames.empty() ? report::Completeness::kNone : report::Completeness::kComplete;
    return encoder_.AddStack(frames, completeness);
  }

  uint32_t ModuleOf(const trace::NamedFrame& frame) {
    if (frame.module == trace::kNoIndex) return report::kNoModule;
    uint32_t& encoded = modules_[frame.module];
    const trace::Module& module = trace_.modules[frame.module];
    if (encoded == report::kNoModule)
      encoded =
          encoder_.AddModule(program_.scrubber.Path(module.path).view(), module.build_id, module.load_bias);
    return encoded;
  }

  void AddSymbol(uint32_t module, const trace::NamedFrame& frame) {
    auto is_it = [&](const report::Symbol& symbol) {
      return symbol.module == module && symbol.function_offset == frame.offset;
    };
    if (std::ranges::any_of(symbols_, is_it)) return;
    symbols_.push_back({module, frame.offset, std::string(program_.scrubber.Text(frame.name).view())});
  }

  uint64_t CauseOf(std::span<const uint32_t> path) const {
    policies::CauseKey key;
    for (auto index = path.rbegin(); index != path.rend() && !key.is_complete(); ++index) {
      const trace::NamedFrame& frame = trace_.frames[*index];
      if (frame.module == trace::kNoIndex) {
        key.AddOutsideModules();
      } else {
        const trace::Module& module = trace_.modules[frame.module];
        key.Add(module.path, module.build_id, frame.symbol_offset());
      }
    }
    return key.value();
  }

  const Trace& trace_;
  const SlowRequest& request_;
  const ProgramFacts& program_;
  std::string bytes_;
  report::FixedBuffer buffer_;
  report::ReportEncoder encoder_;
  std::vector<uint32_t> modules_;  // by index in the trace: the report's index
  std::vector<report::Symbol> symbols_;
};

}  // namespace

SlowRequest::SlowRequest(const watchdog::SlowDispatch& dispatch)
    : tid(dispatch.tid),
      begin_ns(dispatch.begin_mono_ns),
      wall_ns(dispatch.duration_ns),
      threshold_ns(dispatch.threshold_ns),
      cpu_ns(dispatch.cpu_ns),
      fact_count(std::min(dispatch.facts.size(), kMaxFacts)) {
  CopyText(dispatch.loop_name, &loop);
  CopyText(dispatch.tag, &tag);
  std::copy_n(dispatch.facts.begin(), fact_count, facts.begin());
}

std::optional<SlowReport> MakeSlowReport(const trace::Arena& arena, const SlowRequest& request,
                                         const ProgramFacts& program) {
  // Looks before and after say how long the first and the last function lasted.
  constexpr int64_t kAroundNs = 100 * base::kNsPerMs;
  const Trace trace = trace::ReadArena(arena, {request.begin_ns - kAroundNs, request.end_ns() + kAroundNs});
  const auto thread = std::ranges::find(trace.threads, request.tid, &trace::Thread::tid);
  if (thread == trace.threads.end()) return std::nullopt;
  CallTree tree = trace::BuildCallTree(thread->calls, request.begin_ns, request.end_ns());
  const bool has_calls = CoveredNs(tree) >= request.wall_ns / 2;
  if (!has_calls) {
    const std::vector<trace::CallEvent> calls =
        CallsOfSamples(trace, static_cast<uint32_t>(thread - trace.threads.begin()));
    tree = trace::BuildCallTree(calls, request.begin_ns, request.end_ns());
  }
  if (tree.empty()) return std::nullopt;
  tree = WithoutStem(trace::MergeSiblings(tree), kMaxStemNodes);
  return SlowReportWriter(trace, request, program).Write(tree, has_calls);
}

}  // namespace lagwatch::sdk
