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
#include "trace/model/joint_tree.h"
#include "trace/record/reader/arena_reader.h"

namespace lagwatch::sdk {
namespace {

using trace::CallNode;
using trace::CallTree;
using trace::Trace;

constexpr size_t kBufferBytes = 256 << 10;

template <size_t kSize>
void CopyText(const char* text, std::array<char, kSize>* place) {
  const size_t size = strnlen(text, kSize - 1);
  std::memcpy(place->data(), text, size);
  (*place)[size] = '\0';
}

enum class TreeSource : uint8_t { kCalls, kSamples, kBoth };

TreeSource SourceOf(const CallTree& tree) {
  auto is_sampled = [](const CallNode& node) { return node.count == 0; };
  if (std::ranges::none_of(tree, is_sampled)) return TreeSource::kCalls;
  return std::ranges::all_of(tree, is_sampled) ? TreeSource::kSamples : TreeSource::kBoth;
}

const char* NameOf(TreeSource source) {
  switch (source) {
    case TreeSource::kCalls:
      return "calls";
    case TreeSource::kSamples:
      return "samples";
    case TreeSource::kBoth:
      break;
  }
  return "calls_and_samples";
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

  std::optional<SlowReport> Write(const CallTree& tree) {
    SlowReport report;
    report.id = base::CreateUuidV7(base::SystemClock().WallMs());
    SetHeader(report.id);
    AddFacts(SourceOf(tree));
    const std::vector<uint32_t> heavy = HeavyPathOf(tree);
    AddTree(trace::TrimCallTree(tree));
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

  void AddFacts(TreeSource source) {
    encoder_.AddText("tree_of", NameOf(source));
    if (request_.cpu_ns != 0 && request_.wall_ns != 0)
      encoder_.AddNumber("cpu_percent", 100 * request_.cpu_ns / request_.wall_ns);
    for (const watchdog::Fact& fact : std::span(request_.facts).first(request_.fact_count)) {
      fact.text == nullptr ? encoder_.AddNumber(fact.name, fact.number)
                           : encoder_.AddText(fact.name, program_.scrubber.Text(fact.text).view());
    }
    AddProgramContext(ProcessContext(), program_.scrubber, &encoder_);
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
  void AddTree(const CallTree& tree) {
    std::vector<uint32_t> path;
    for (size_t i = 0; i < tree.size(); ++i) {
      path.resize(tree[i].depth);
      path.push_back(tree[i].frame);
      int64_t self_ns = tree[i].total_ns;
      for (size_t j = i + 1; j < tree.size() && tree[j].depth > tree[i].depth; ++j)
        if (tree[j].depth == tree[i].depth + 1) self_ns -= tree[j].total_ns;
      encoder_.AddSample({.stack = AddPath(path), .wall_ns = self_ns, .calls = tree[i].count});
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
  const CallTree tree = trace::BuildJointTree(trace, static_cast<uint32_t>(thread - trace.threads.begin()),
                                              request.begin_ns, request.end_ns());
  if (tree.empty()) return std::nullopt;
  return SlowReportWriter(trace, request, program).Write(tree);
}

}  // namespace lagwatch::sdk
