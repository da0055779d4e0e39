// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "policies/fact_names.h"
#include "policies/hang.h"
#include "tools/read/report_lists.h"
#include "tools/read/report_parts.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kTimelineFrames = 4;
constexpr size_t kHistoryRows = 10;

// A dump is about one moment.
std::string DurationLine(const Json& report) {
  if (IsDump(report)) return "";
  const bool is_at_least = report.at("facts").contains(policies::kAtLeastFact);
  return "  lasted   " + std::string(is_at_least ? "at least " : "") + Duration(report) + " (threshold " +
         ShortDuration(report.at("threshold_ms").get<double>()) + ")\n";
}

std::vector<std::string> Functions(const Json& stack) {
  std::vector<std::string> functions;
  for (const Json& frame : stack) functions.push_back(Text(frame, "function"));
  return functions;
}

// "waits for: sleep (pid 4711)"; empty where nothing is named.
std::string WaitsForText(const Json& facts) {
  auto text = [&](const char* fact) {
    const Json value = facts.value(fact, Json());
    return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
  };
  if (const std::string service = text(policies::kBusServiceFact); !service.empty())
    return "waits for: " + service + ", method " + text(policies::kBusMethodFact) + ", over D-Bus";
  if (!facts.contains(policies::kWaitsForFact)) return "";
  const std::string pid = text(policies::kWaitsForPidFact);
  const std::string count = text(policies::kWaitsForCountFact);
  const std::string name = text(policies::kWaitsForNameFact);
  const std::string address = text(policies::kWaitsForAddressFact);
  std::string whom = pid.empty() ? "" : (name.empty() ? "a process" : name) + " (pid " + pid + ")";
  if (!count.empty()) whom += ", one of " + count;
  return "waits for: " + whom + (whom.empty() || address.empty() ? "" : ", ") + address;
}

// Reports of older programs have none.
std::string VerdictLine(const Json& report) {
  const Json& verdict = report.at("verdict");
  const Json& facts = report.at("facts");
  const std::string waits_for = WaitsForText(facts);
  const bool is_verdicts = facts.value(policies::kWaitsForFact, Json()) == verdict.at("word");
  bool is_missing = verdict.at("wall_ms").get<double>() == 0 && Text(verdict, "word") == "unknown";
  std::string lines =
      is_missing ? ""
                 : "  verdict  " + VerdictText(verdict, facts) + (is_verdicts ? "  " + waits_for : "") + "\n";
  // The peer that it waited for when it was reported, though most of the time went elsewhere.
  if (!waits_for.empty() && (is_missing || !is_verdicts)) lines += "  at last  " + waits_for + "\n";
  return lines;
}

std::string PackageLine(const Json& report) {
  const std::string text = PackageText(report);
  return text.empty() ? "" : "  code     " + text + "\n";
}

std::string ExitLine(const Json& report) {
  const std::string exit = ExitText(report);
  return exit.empty() ? "" : "  run      ended by " + exit + "\n";
}

// The report's kind, unless it is a dispatch over its first threshold.
std::string KindLines(const Json& report) {
  std::string kind = Text(report, "kind");
  std::string level = Text(report, "level");
  return (kind == "lag" ? "" : "  kind     " + kind + "\n") +
         (level == "lag" ? "" : "  level    " + level + "\n");
}

// "process 163 % of a processor over the last 60.0 s (limit 80 % of 2), in the background"
std::string CpuUse(const Json& report) {
  const Json& cpu = report.at("cpu");
  const Json& facts = report.at("facts");
  double window_ms = std::max(cpu.at("window_ms").get<double>(), 0.001);
  std::string use = Format("process %.0f %% of a processor over the last ",
                           100 * cpu.at("process_ms").get<double>() / window_ms) +
                    ShortDuration(window_ms);
  if (facts.contains("limit_percent") && facts.contains("cores")) {
    bool is_of_thread = facts.value("limit_of", Json()) == "thread";
    use += " (limit " + facts["limit_percent"].dump() + " % of " +
           (is_of_thread ? "one, for a thread" : facts["cores"].dump()) + ")";
  }
  // Reports of older programs have the opposite fact.
  const bool is_background =
      facts.value("foreground", Json(1)) == 0 || facts.value("in_background", Json(0)) == 1;
  return use + (is_background ? ", in the background" : "");
}

std::string CpuHeaderLines(const Json& report) {
  std::string user = Text(report, "user");
  const Json& cluster = report.at("cluster");
  return "Report " + Text(report, "id") + "\n" + KindLines(report) +  //
         "  app      " + Text(report, "app") + " " + Text(report, "version") +
         (user.empty() ? "" : ", user " + user) + ", process " + report.at("pid").dump() + "\n" +  //
         "  started  " + UtcTime(report.at("start_wall_ms").get<int64_t>()) + " UTC\n" +           //
         "  CPU      " + CpuUse(report) + "\n" +                                                   //
         "  machine  " + Text(report, "os") + " " + Text(report, "machine") + "\n" +               //
         "  cluster  " + Text(cluster, "level1") + " > " + Text(cluster, "level2") + "\n";
}

std::string BusiestThreadLines(const Json& report) {
  const Json& facts = report.at("facts");
  std::string lines;
  for (int i = 1; facts.contains("busiest_" + std::to_string(i) + "_tid"); ++i) {
    const std::string prefix = "busiest_" + std::to_string(i);
    const Json name = facts.value(prefix + "_name", Json(""));
    lines += "  " + facts[prefix + "_tid"].dump() + " " + (name.is_string() ? name.get<std::string>() : "") +
             "  " + facts.value(prefix + "_percent", Json(0)).dump() + " % of a processor\n";
  }
  return lines.empty() ? "" : "\nBusiest threads\n" + lines;
}

std::string PowerTreeLines(const Json& nodes, const std::string& indent) {
  std::string lines;
  for (const Json& node : nodes) {
    lines += indent + Format("%3.0f %%  ", node.at("percent").get<double>()) + Text(node, "function") + "\n" +
             PowerTreeLines(node.at("callers"), indent + "  ");
  }
  return lines;
}

// From the outermost functions inwards: "  91 %   640 ms   12 x  Parse".
std::string CallTreeLines(const Json& nodes, const std::string& indent) {
  std::string lines;
  for (const Json& node : nodes) {
    const auto calls = node.at("calls").get<uint64_t>();
    const std::string ms = ShortDuration(node.at("wall_ms").get<double>());
    lines += Format("  %3.0f %%  %8s  ", node.at("percent").get<double>(), ms.c_str()) + indent +
             Text(node, "function") + (calls > 1 ? "  (" + std::to_string(calls) + " calls)" : "") + "\n" +
             CallTreeLines(node.at("callees"), indent + "  ");
  }
  return lines;
}

std::string SlowReportLines(const Json& report) {
  const Json tree_of = report.at("facts").value("tree_of", Json());
  const char* source = tree_of == "calls"     ? "recorded calls"
                       : tree_of == "samples" ? "estimated from samples"
                                              : "recorded calls; the others estimated from samples";
  const Json tree = report.value("call_tree", Json::array());
  return (tree.empty() ? "" : std::string("\nTime by call (") + source + ")\n") + CallTreeLines(tree, "") +
         "\nHeaviest path\n" +
         StackLines(report.at("expensive_stack"), Text(report, "expensive_completeness"), "  ");
}

// A dump is about one moment. Of a slow dispatch only its thread's CPU time is known.
std::string CpuLine(const Json& report) {
  if (IsDump(report)) return "";
  if (IsSlow(report)) {
    const double thread_ms = report.at("cpu").at("thread_ms").get<double>();
    const double wall_ms = std::max(report.at("elapsed_ms").get<double>(), 0.001);
    return thread_ms == 0 ? "" : "  CPU      thread " + Format("%.0f %%\n", 100 * thread_ms / wall_ms);
  }
  const Json& cpu = report.at("cpu");
  const double window_ms = cpu.at("window_ms").get<double>();
  // Reports of older programs may have times of less than a moment, which say nothing.
  if (window_ms < 1) return "";
  auto percent = [&](const char* key) {
    return Format("%.0f %%", 100 * cpu.at(key).get<double>() / window_ms);
  };
  return "  CPU      thread " + percent("thread_ms") + ", process " + percent("process_ms") +
         " over the last " + ShortDuration(window_ms) + "\n";
}

// "ui, dispatch key, thread 4712 of process 4711"; a start has a name, but no loop.
std::string Place(const Json& report) {
  std::string loop = Text(report, "loop");
  std::string tag = Text(report, "tag");
  std::string role = IsDump(report) ? "reason " : loop.empty() ? "" : "dispatch ";
  return (loop.empty() ? "" : loop + ", ") + (tag.empty() ? "" : role + tag + ", ") + "thread " +
         report.at("tid").dump() + " of process " + report.at("pid").dump();
}

// ": 4101 calls below plugins/" of a dispatch that used files.
std::string FilesUsed(const Json& report) {
  const Json& facts = report.at("facts");
  std::string text;
  if (const auto calls = facts.find(policies::kIoCallsFact); calls != facts.end())
    text = ": " + calls->dump() + " calls";
  if (facts.contains(policies::kIoBelowFact)) return text + " below " + Text(facts, policies::kIoBelowFact);
  return facts.contains(policies::kIoPathFact) ? text + ", " + Text(facts, policies::kIoPathFact) : text;
}

// "`price` froze shop 2.4.0 for 3.4 s"; empty where no function is known, and of dumps.
std::string Headline(const Json& report) {
  if (IsDump(report)) return "";
  std::string function;
  for (const Json& frame : report.at("expensive_stack")) {
    if (function.empty() && frame.value("own", false)) function = Text(frame, "function");
  }
  const std::vector<std::string> cause = report.value("cause", std::vector<std::string>());
  if (function.empty() && !cause.empty()) function = cause.front();
  if (function.empty()) return "";
  const std::string program = Text(report, "app") + " " + Text(report, "version");
  const std::string lasted = " for " + ShortDuration(report.at("duration_ms").get<double>());
  if (IsSlow(report)) return "`" + function + "` made " + program + " slow" + lasted + "\n";
  if (Text(report, "kind") == policies::HangKindName(policies::HangKind::kIo))
    return "`" + function + "` used files in " + program + lasted + FilesUsed(report) + "\n";
  return "`" + function + "` froze " + program + lasted +
         (report.at("ended").get<bool>() ? "\n" : " or longer\n");
}

std::string HeaderLines(const Json& report) {
  std::string user = Text(report, "user");
  const Json& cluster = report.at("cluster");
  return Headline(report) + "Report " + Text(report, "id") + "\n" + KindLines(report) +  //
         "  app      " + Text(report, "app") + " " + Text(report, "version") +
         (user.empty() ? "" : ", user " + user) + "\n" +  //
         "  loop     " + Place(report) + "\n" +           //
         "  started  " + UtcTime(report.at("start_wall_ms").get<int64_t>()) + " UTC\n" +
         DurationLine(report) +                                         //
         VerdictLine(report) + CpuLine(report) + PackageLine(report) +  //
         "  machine  " + Text(report, "os") + " " + Text(report, "machine") + "\n" + "  cluster  " +
         Text(cluster, "level1") + " > " + Text(cluster, "level2") + "\n" + ExitLine(report);
}

// Older collectors return no traces.
std::string TraceLines(const Json& report) {
  std::string lines;
  for (const Json& trace : report.value("traces", Json::array()))
    lines += Format("  %.0f ms recorded (", trace.at("duration_ms").get<double>()) + Text(trace, "reason") +
             Format("), %.0f KiB\n", trace.at("size_bytes").get<double>() / 1024);
  if (lines.empty()) return "";
  return "\nBefore the hang\n" + lines + "  get it with: lagwatch report " + Text(report, "id") +
         " --trace FILE.perfetto-trace\n";
}

// Neighbouring samples with the same functions make one line.
std::string TimelineLines(const Json& samples) {
  std::string lines;
  for (size_t first = 0, next = 0; first < samples.size(); first = next) {
    std::vector<std::string> functions = Functions(samples[first].at("stack"));
    while (next < samples.size() && Functions(samples[next].at("stack")) == functions) ++next;
    double from_ms = samples[first].at("age_ms").get<double>();
    double to_ms = samples[next - 1].at("age_ms").get<double>();
    functions.resize(std::min(functions.size(), kTimelineFrames));
    lines += Format("  %8.2f s to %6.2f s  %3zu x  ", -from_ms / 1000, -to_ms / 1000, next - first) +
             (functions.empty() ? "(no stack)" : Join(functions, " < ")) + "\n";
  }
  return lines;
}

// "-" if unknown.
std::string DurationIfKnown(const Json& ms) {
  return ms.get<double>() == 0 ? "-" : ShortDuration(ms.get<double>());
}

// The loop's dispatches before the report, the oldest first. Older collectors list none.
std::string HistoryLines(const Json& report) {
  // The dispatch that hung, which began with the hang, is not one before it.
  const double elapsed_ms = report.at("elapsed_ms").get<double>();
  const bool is_of_many = Text(report, "kind") == "busy-loop";
  Json history = Json::array();
  for (const Json& dispatch : report.value("history", Json::array())) {
    const double began_ms = dispatch.at("age_ms").get<double>() + dispatch.at("wall_ms").get<double>();
    if (is_of_many || began_ms > elapsed_ms + 1) history.push_back(dispatch);
  }
  if (history.empty()) return "";
  const size_t count = std::min(history.size(), kHistoryRows);
  Table table({{"  ENDED", Table::Align::kRight},
               {"TOOK", Table::Align::kRight},
               {"CPU", Table::Align::kRight},
               {"IN QUEUE", Table::Align::kRight},
               {"DISPATCH"}});
  for (size_t i = history.size() - count; i < history.size(); ++i) {
    const Json& dispatch = history[i];
    table.AddRow({"  " + ShortDuration(dispatch.at("age_ms").get<double>()) + " before",
                  ShortDuration(dispatch.at("wall_ms").get<double>()), DurationIfKnown(dispatch.at("cpu_ms")),
                  DurationIfKnown(dispatch.at("queue_wait_ms")), Text(dispatch, "tag")});
  }
  const std::string of_all = count == history.size() ? "" : " of " + std::to_string(history.size());
  return "\nDispatches before (the last " + std::to_string(count) + of_all + " over 1 ms)\n" +
         table.ToText(0);
}

// "  in fsync (folio_wait_bit_common)", or nothing for a thread that does not sleep.
std::string Sleep(const Json& thread, const std::string& machine) {
  const Json& number = thread.at("syscall");
  std::string channel = Text(thread, "wait_channel");
  if (number.is_null()) return channel.empty() ? "" : "  in " + channel;
  return "  in " + SyscallName(number.get<uint64_t>(), machine) +
         (channel.empty() ? "" : " (" + channel + ")");
}

std::string ThreadLines(const Json& threads, const std::string& machine) {
  std::string lines;
  for (const Json& thread : threads) {
    lines += "  " + thread.at("tid").dump() + " " + Text(thread, "name") + "  " + Text(thread, "state") +
             Format("  %.1f s CPU", thread.at("cpu_ms").get<double>() / 1000) + Sleep(thread, machine) +
             "\n" + StackLines(thread.at("stack"), Text(thread, "completeness"), "    ");
  }
  return lines;
}

// Returns "  5 threads of lagwatch". Older collectors do not return the number.
std::string OwnThreadLine(const Json& report) {
  const auto count = report.value("lagwatch_threads", int64_t{0});
  if (count == 0) return "";
  return "  " + std::to_string(count) + (count == 1 ? " thread" : " threads") + " of lagwatch\n";
}

}  // namespace

std::string ReportText(const Json& report, StackStyle stacks) {
  const Json& samples = report.at("samples");
  int64_t dropped = report.at("threads_dropped").get<int64_t>();
  if (IsOfCpu(report)) {
    const Json tree = report.value("power_tree", Json::array());
    return PrintableLines(CpuHeaderLines(report) + BusiestThreadLines(report) +
                          (tree.empty() ? "" : "\nCPU time by call (innermost functions first)\n") +
                          PowerTreeLines(tree, "  ") + TraceLines(report) + "\nThreads\n" +
                          ThreadLines(report.at("threads"), Text(report, "machine")));
  }
  if (IsSlow(report)) {
    return PrintableLines(HeaderLines(report) + SlowReportLines(report) + FactLines(report.at("facts")) +
                          TraceLines(report));
  }
  return PrintableLines(
      HeaderLines(report) + FlameLines(report, stacks) + "\nMost expensive stack\n" +
      StackLines(report.at("expensive_stack"), Text(report, "expensive_completeness"), "  ", stacks) +
      WaitLines(report) + "\nTimeline (" + std::to_string(samples.size()) + " samples, before the report)\n" +
      TimelineLines(samples) + HistoryLines(report) + FactLines(report.at("facts")) + TraceLines(report) +
      "\nThreads\n" + ThreadLines(report.at("threads"), Text(report, "machine")) +
      (dropped == 0 ? "" : "  and " + std::to_string(dropped) + " more that did not fit\n") +
      OwnThreadLine(report));
}

}  // namespace lagwatch::tools
