// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/report_json.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/process/own_names.h"
#include "base/text.h"
#include "collector/cluster/named_stacks.h"
#include "collector/query/json/columns_json.h"
#include "collector/query/json/fields_json.h"
#include "collector/symbols/names/frame_names.h"

namespace lagwatch::collector {
namespace {

// Merges a report's samples by their functions, each with its cost.
class CostTree {
 public:
  // From the innermost functions outwards, by CPU time; or, of a slow dispatch, inwards, by time.
  explicit CostTree(const report::Report& report)
      : report_(report), names_(report), is_slow_(report.kind == report::HangKind::kSlow) {
    for (const report::Sample& sample : report.samples) total_ns_ += CostNs(sample);
  }

  Json ToJson() {
    std::vector<const report::Sample*> all;
    for (const report::Sample& sample : report_.samples) all.push_back(&sample);
    return Level(all, 0);
  }

 private:
  // Stacks are as deep as their writer makes them; the few bytes left at the far end carry no information.
  static constexpr size_t kMaxDepth = 32;
  static constexpr double kMinShare = 0.01;

  struct Node {
    double cost_ns = 0;
    uint64_t calls = 0;
    std::vector<const report::Sample*> samples = {};
  };

  double CostNs(const report::Sample& sample) const {
    if (is_slow_) return static_cast<double>(sample.wall_ns);
    return static_cast<double>(std::max<int64_t>(sample.use.cpu_ns, 0));
  }

  // The functions at `depth` of these samples, which are the same at all lesser depths.
  Json Level(const std::vector<const report::Sample*>& samples, size_t depth) {
    std::map<std::string, Node> by_function;
    for (const report::Sample* sample : samples) {
      const report::Stack& stack = report_.stacks[sample->stack];
      if (depth >= kMaxDepth || depth >= stack.frames.size()) continue;
      const size_t index = is_slow_ ? stack.frames.size() - 1 - depth : depth;
      const bool is_past_gap =
          stack.gap_frames != 0 && (is_slow_ ? index < stack.gap_at : index >= stack.gap_at);
      if (is_past_gap) continue;
      Node& node = by_function[names_.NameOf(stack.frames[index]).function];
      node.cost_ns += CostNs(*sample);
      if (depth + 1 == stack.frames.size()) node.calls += sample->calls;
      node.samples.push_back(sample);
    }
    std::vector<const std::pair<const std::string, Node>*> nodes;
    for (const auto& entry : by_function) {
      if (entry.second.cost_ns > 0 && entry.second.cost_ns >= kMinShare * total_ns_) nodes.push_back(&entry);
    }
    std::ranges::stable_sort(nodes, [](auto* a, auto* b) { return a->second.cost_ns > b->second.cost_ns; });
    Json json = Json::array();
    for (const auto* node : nodes) json.push_back(NodeJson(node->first, node->second, depth));
    return json;
  }

  Json NodeJson(const std::string& function, const Node& node, size_t depth) {
    Json json = {{"function", function}};
    json[is_slow_ ? "wall_ms" : "cpu_ms"] = ToMs(node.cost_ns);
    json["percent"] = 100 * node.cost_ns / total_ns_;
    if (is_slow_) json["calls"] = node.calls;
    json[is_slow_ ? "callees" : "callers"] = Level(node.samples, depth + 1);
    return json;
  }

  const report::Report& report_;
  FrameNames names_;
  bool is_slow_;
  double total_ns_ = 0;
};

class StackWriter {
 public:
  StackWriter(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names)
      : report_(report), namer_(namer), names_(names) {}

  // From now on, stacks are numbers of frames that table() has, each once: large reports repeat them.
  void BeginTable() { table_ = Json::array(); }
  const Json& table() const { return table_; }

  Json Frames(const report::Stack& stack) {
    if (table_.is_array()) return NumbersOf(stack);
    Json frames = Json::array();
    for (const report::Frame& frame : stack.frames) {
      const bool is_after_gap = stack.gap_frames != 0 && &frame == &stack.frames[stack.gap_at];
      const size_t first = frames.size();
      AddFunctions(frame, &frames);
      if (is_after_gap && frames.size() > first) frames[first]["left_out_before"] = stack.gap_frames;
    }
    return frames;
  }

  Json SampleJson(const report::Sample& sample) {
    Json json;
    AddFields(report::kSampleTable, sample, &json);
    if (report_.kind != report::HangKind::kSlow) {
      json.erase("wall_ms");
      json.erase("calls");
    }
    json["stack"] = Frames(report_.stacks[sample.stack]);
    return json;
  }

  Json ThreadJson(const report::Thread& thread) {
    const report::Stack& stack = StackOf(thread.stack);
    Json json;
    AddFields(report::kThreadTable, thread, &json);
    json["completeness"] = policies::CompletenessName(stack.completeness);
    json["stack"] = Frames(stack);
    return json;
  }

  Json Waits() {
    Json waits = Json::array();
    for (const report::Wait& wait : report_.waits) {
      Json json = ThreadAt(wait.tid, NameOfThread(wait.tid), wait.stack);
      AddProcess(wait.pid, NameOfProcess(wait.pid), &json);
      json["lock"] = HexNumber(wait.lock.address);
      json["kind"] = policies::LockKindName(wait.lock.kind);
      json["for"] = policies::WaitsForName(wait.lock.waits_for);
      json["has_timeout"] = wait.lock.has_timeout;
      json["owner"] =
          wait.lock.waits_for == report::WaitsFor::kOwner
              ? ThreadAt(static_cast<uint32_t>(wait.lock.owner_tid), wait.owner_name, wait.owner_stack)
              : Json();
      if (wait.owner_pid != 0) {
        AddProcess(wait.owner_pid, wait.owner_process, &json["owner"]);
        json["owner"]["state"] = std::string(1, wait.owner_state);
        json["owner"]["idle"] = wait.is_owner_idle;
        if (wait.owner_session_id != base::Uuid{})
          json["owner"]["session_id"] = base::ToString(wait.owner_session_id);
      }
      AddFields(report::kWaitTable, wait, &json);
      waits.push_back(std::move(json));
    }
    return waits;
  }

 private:
  Json NumbersOf(const report::Stack& stack) {
    Json numbers = Json::array();
    for (const report::Frame& frame : stack.frames) {
      const bool is_after_gap = stack.gap_frames != 0 && &frame == &stack.frames[stack.gap_at];
      auto [known, is_new] =
          numbers_.try_emplace({frame.module, frame.offset, is_after_gap ? &stack : nullptr});
      auto& [first, end] = known->second;
      if (is_new) {
        first = table_.size();
        AddFunctions(frame, &table_);
        end = table_.size();
        if (is_after_gap && end > first) table_[first]["left_out_before"] = stack.gap_frames;
      }
      for (size_t number = first; number < end; ++number) numbers.push_back(number);
    }
    return numbers;
  }

  // One frame, and before it those that were inlined into it.
  void AddFunctions(const report::Frame& frame, Json* frames) {
    static const report::Module kUnknown;
    const report::Module& module =
        frame.module == report::kNoModule ? kUnknown : report_.modules[frame.module];
    const auto described = names_.DescribeFrame(frame);
    size_t shown = 0;
    for (const NamedFrame& named : namer_.NamesOf(frame)) {
      if (base::IsOwnFunctionName(named.function)) continue;  // named since it was stored
      frames->push_back({{"module", module.path},
                         {"build_id", base::ToHex(module.build_id)},
                         {"offset", HexNumber(frame.offset)},
                         {"function", named.function},
                         {"own", shown < described.size() && described[shown].is_own}});
      ++shown;
      if (!named.has_place()) continue;
      Json& json = frames->back();
      json["file"] = named.file.empty() ? Json() : Json(named.file);
      json["line"] = named.line == 0 ? Json() : Json(named.line);
      json["inlined"] = named.is_inlined;
    }
  }

  const report::Stack& StackOf(uint32_t index) const {
    static const report::Stack kNone{{}, report::Completeness::kNone};
    return index == report::kNoStack ? kNone : report_.stacks[index];
  }

  static void AddProcess(uint32_t pid, const std::string& name, Json* json) {
    if (pid != 0 && !json->is_null()) (*json)["process"] = {{"pid", pid}, {"name", name}};
  }

  std::string NameOfProcess(uint32_t pid) const {
    const auto wait = std::ranges::find(report_.waits, pid, &report::Wait::owner_pid);
    return pid == 0 || wait == report_.waits.end() ? "" : wait->owner_process;
  }

  std::string NameOfThread(uint32_t tid) const {
    for (const report::Thread& thread : report_.threads) {
      if (thread.tid == tid) return thread.name;
    }
    for (const report::Wait& wait : report_.waits) {
      if (wait.lock.owner_tid == static_cast<int32_t>(tid)) return wait.owner_name;
    }
    return "";
  }

  Json ThreadAt(uint32_t tid, const std::string& name, uint32_t stack_index) {
    const report::Stack& stack = StackOf(stack_index);
    const std::string at = names_.PlaceOf(stack);
    return {{"tid", tid}, {"name", name}, {"at", at.empty() ? Json() : Json(at)}, {"stack", Frames(stack)}};
  }

  const report::Report& report_;
  const SymbolNamer& namer_;
  const NamedStacks& names_;
  Json table_;  // an array, or null
  // The first and the last frame's number and one, by module, offset, and the stack that has a gap there.
  std::map<std::tuple<uint32_t, uint64_t, const report::Stack*>, std::pair<size_t, size_t>> numbers_;
};

}  // namespace

base::Result<report::Report> DecodeStored(const StoredReport& stored) {
  auto report = report::DecodeReport(stored.payload);
  if (report.ok()) return report;
  return base::Status(base::StatusCode::kInternal,
                      "the stored report is damaged: " + report.status().message());
}

Json LossJson(const LossRow& loss) {
  return {{"app", loss.app},       {"version", loss.version},
          {"reason", loss.reason}, {"cause_key", CauseKeyJson(loss.cause)},
          {"reports", loss.count}, {"estimated", {{"reports", loss.weighted_count}}}};
}

Json ExitJson(const RunEndRow& end) {
  return {{"reason", policies::CurrentExitReason(end.reason)},
          {"signal", end.signal == 0 ? Json() : Json(end.signal)},
          {"last_seen_wall_ms", end.last_seen_wall_ms}};
}

Json ReportHeaderJson(const ReportRow& row, const std::vector<std::string>& cause) {
  Json json = ColumnsJson(row, kReportColumns);
  json["duration_ms"] = ToMs(HangDurationNs(row));
  json["ended"] = row.duration_ns.has_value();
  json["cause"] = cause;
  return WithOldNames(std::move(json), {{"hang_id", "lag_id"}});
}

std::string ReportText(const Json& rest, const report::Report& report, const SymbolNamer& namer,
                       const NamedStacks& names, bool has_table) {
  StackWriter writer(report, namer, names);
  if (has_table) writer.BeginTable();
  std::string text = JsonText(rest);
  text.pop_back();  // the brace
  const auto add = [&](const char* member, const auto& entries, const auto& to_json) {
    text.append(",\"").append(member).append("\":[");
    for (const auto& entry : entries) text.append(JsonText(to_json(entry))).push_back(',');
    if (text.back() == ',') text.pop_back();
    text += ']';
  };
  add("samples", report.samples, [&](const report::Sample& sample) { return writer.SampleJson(sample); });
  add("threads", report.threads, [&](const report::Thread& thread) { return writer.ThreadJson(thread); });
  if (has_table) text.append(",\"frames\":").append(JsonText(writer.table()));
  return text + '}';
}

void AddStacks(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names, Json* json) {
  StackWriter writer(report, namer, names);
  const report::Stack& expensive = report.stacks[report.expensive_stack];
  (*json)["expensive_stack"] = writer.Frames(expensive);
  (*json)["expensive_completeness"] = policies::CompletenessName(expensive.completeness);
  (*json)["lagwatch_threads"] = report.own_threads;
}

void AddWaits(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names, Json* json) {
  (*json)["waits"] = StackWriter(report, namer, names).Waits();
  (*json)["deadlock"] = report.wait_outcome == report::WaitOutcome::kDeadlock;
}

void AddCircumstances(const report::Report& report, Json* json) {
  AddFields(report::kReportTable, report, json);
  (*json)["facts"] = Json::object();
  for (const report::Fact& fact : report.facts)
    (*json)["facts"][fact.name] = fact.text.empty() ? Json(fact.number) : Json(fact.text);
}

void AddCostTree(const report::Report& report, Json* json) {
  if (report.kind == report::HangKind::kCpuAverage) (*json)["power_tree"] = CostTree(report).ToJson();
  if (report.kind == report::HangKind::kSlow) (*json)["call_tree"] = CostTree(report).ToJson();
}

Json FramesJson(const FrameSummary& summary) {
  constexpr double kNsPerSecond = 1e9;
  const policies::FrameTotals& sums = summary.frames;
  double refresh_hz =
      summary.refresh_interval_ns > 0 ? kNsPerSecond / static_cast<double>(summary.refresh_interval_ns) : 0;
  double refreshes = static_cast<double>(sums.frames) + static_cast<double>(sums.dropped);
  Json levels = Json::object();
  for (size_t i = 0; i < policies::kFrameLevels; ++i)
    levels[policies::FrameLevelName(static_cast<policies::FrameLevel>(i))] = sums.by_level[i];
  Json stages = Json::object();
  for (size_t i = 0; i < policies::kFrameStages; ++i)
    stages[policies::FrameStageName(static_cast<policies::FrameStage>(i))] =
        ToMs(static_cast<double>(sums.by_stage_ns[i]));
  return {{"app", summary.app},
          {"version", summary.version},
          {"loop", summary.loop},
          {"scene", summary.scene},
          {"slices", summary.slices},
          {"users", summary.users},
          {"last_seen_ms", summary.last_seen_ms},
          {"refresh_hz", refresh_hz},
          {"fps", refreshes > 0 ? refresh_hz * static_cast<double>(sums.frames) / refreshes : 0},
          {"frames", sums.frames},
          {"dropped", sums.dropped},
          {"levels", std::move(levels)},
          {"stage_ms", std::move(stages)}};
}

Json ExpensiveStackJson(const report::Report& report, const SymbolNamer& namer, const NamedStacks& names) {
  return StackWriter(report, namer, names).Frames(report.stacks[report.expensive_stack]);
}

}  // namespace lagwatch::collector
