// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tools/read/report_parts.h"
#include "tools/read/screen.h"
#include "tools/read/table.h"
#include "tools/why/explanation.h"
#include "tools/why/wait_words.h"

namespace lagwatch::tools {
namespace {

using sdk::Standing;

constexpr size_t kGroupFrames = 8;
constexpr size_t kIdleFrames = 3;
constexpr size_t kNames = 4;

std::string StandingWords(Standing standing) {
  switch (standing) {
    case Standing::kResponds:
      return "responds";
    case Standing::kFrozen:
      return "does not respond";
    case Standing::kMayBeFrozen:
      return "may not respond";
  }
  return "";
}

// "3 × computing: worker-1, worker-2, worker-3"
std::string GroupTitle(const ThreadGroup& group) {
  std::vector<std::string> names(
      group.names.begin(),
      group.names.begin() + static_cast<std::ptrdiff_t>(std::min(group.names.size(), kNames)));
  if (group.names.size() > kNames) names.push_back("…");
  // A core has no names.
  for (size_t i = 0; group.names.empty() && i < std::min(group.tids.size(), kNames); ++i)
    names.push_back(std::to_string(group.tids[i]));
  if (group.names.empty() && group.tids.size() > kNames) names.push_back("…");
  const std::string who = group.tids.size() == 1 && !group.names.empty()
                              ? std::to_string(group.tids.front()) + " " + group.names.front()
                              : Join(names, ", ");
  return "  " + std::to_string(group.tids.size()) + " × " + group.doing + ": " + who + "\n";
}

// A group that is at work has a frame a line; one that idles, a line.
std::string GroupLines(const ThreadGroup& group, bool shows_all) {
  std::string lines = GroupTitle(group);
  if (group.stack.empty()) return lines + "      (no stack)\n";
  if (!group.is_idle || shows_all) {
    const size_t count = shows_all ? group.stack.size() : std::min(group.stack.size(), kGroupFrames);
    for (size_t i = 0; i < count; ++i) lines += "      " + group.stack[i] + "\n";
    return lines + (count < group.stack.size() ? "      …\n" : "");
  }
  std::vector<std::string> inner(
      group.stack.begin(),
      group.stack.begin() + static_cast<std::ptrdiff_t>(std::min(group.stack.size(), kIdleFrames)));
  return lines + "      " + Join(inner, " < ") + "\n";
}

std::string GroupsLines(const Explanation& explanation, bool shows_all) {
  constexpr size_t kMostGroups = 12;
  if (explanation.groups.empty()) return "";
  std::string lines = "\nOther threads\n";
  const size_t count =
      shows_all ? explanation.groups.size() : std::min(explanation.groups.size(), kMostGroups);
  for (size_t i = 0; i < count; ++i) lines += GroupLines(explanation.groups[i], shows_all);
  size_t left = 0;
  for (size_t i = count; i < explanation.groups.size(); ++i) left += explanation.groups[i].tids.size();
  return lines + (left == 0 ? "" : "  and " + std::to_string(left) + " more; --all shows them\n");
}

std::string NextLines(const Explanation& explanation) {
  std::string lines;
  for (const std::string& line : explanation.next) lines += "  " + line + "\n";
  return lines.empty() ? "" : "\nNext\n" + lines;
}

std::string EvidenceLines(const Explanation& explanation, bool shows_all) {
  const Json& report = explanation.report;
  if (report.is_null()) return "";
  const int64_t pid = explanation.pid;
  const auto tid = report.at("tid").get<int64_t>();
  const Json& verdict = report.at("verdict");
  const bool is_missing =
      explanation.core && (explanation.core->HasCrashed() || Text(verdict, "word") == "unknown");
  return (is_missing ? "" : "\n  verdict  " + VerdictText(verdict, report.at("facts")) + "\n") +
         WaitLines(report) + "\nStack of " + ThreadWords(tid, Text(report, "loop"), pid) + "\n" +
         StackLines(report.at("expensive_stack"), Text(report, "expensive_completeness"), "  ") +
         GroupsLines(explanation, shows_all) +
         (shows_all ? FactLines(report.at("facts")) : PressingFactLines(report.at("facts")));
}

// Modules of a core that are not read.
std::string UnusedLines(const Explanation& explanation, bool shows_all) {
  constexpr size_t kMostUnused = 6;
  if (!explanation.core || explanation.core->unused.empty()) return "";
  const std::vector<std::string>& unused = explanation.core->unused;
  const size_t count = shows_all ? unused.size() : std::min(unused.size(), kMostUnused);
  std::string lines = "\nFiles that are not used, so that stacks may lack functions and end early\n";
  for (size_t i = 0; i < count; ++i) lines += "  " + unused[i] + "\n";
  return lines + (count == unused.size()
                      ? ""
                      : "  and " + std::to_string(unused.size() - count) + " more; --all shows them\n");
}

// "redis-server (core of pid 4711) does not respond: "
std::string Beginning(const Explanation& explanation) {
  const std::string pid = "pid " + std::to_string(explanation.pid) + ") ";
  if (!explanation.core) return explanation.process + " (" + pid + StandingWords(explanation.standing) + ": ";
  const std::string process = explanation.process + " (core of " + pid;
  if (explanation.core->HasCrashed()) return process;
  // One moment shows no freeze of what might have gone on.
  const bool responds = explanation.standing == Standing::kResponds;
  return process + (responds ? "shows no freeze" : StandingWords(explanation.standing)) + ": ";
}

Json CoreJson(const CoreOrigin& core) {
  Json json = {{"file", core.file},
               {"program", core.program},
               {"arguments", core.arguments},
               {"unused", core.unused},
               {"signal", nullptr}};
  if (!core.end) return json;
  json["signal"] = {{"name", core.end->signal}, {"thread", core.end->tid}, {"detail", core.end->detail}};
  json["signal"]["sender"] = core.end->is_sent ? Json(core.end->sender) : Json();
  return json;
}

Json GroupJson(const ThreadGroup& group) {
  return {{"threads", group.tids},
          {"names", group.names},
          {"doing", group.doing},
          {"idle", group.is_idle},
          {"stack", group.stack}};
}

const char* StandingName(Standing standing) {
  switch (standing) {
    case Standing::kResponds:
      return "responds";
    case Standing::kFrozen:
      return "frozen";
    case Standing::kMayBeFrozen:
      return "may-be-frozen";
  }
  return "";
}

}  // namespace

std::string ToText(const Explanation& explanation, bool shows_all, size_t width) {
  const std::string text = PrintableLines(
      Wrapped(Beginning(explanation) + explanation.sentence + ".", width, 2) + "\n" +
      EvidenceLines(explanation, shows_all) + UnusedLines(explanation, shows_all) + NextLines(explanation));
  return Narrowed(text, shows_all ? 0 : width, {"Other threads", "Facts", "Files that are not used"},
                  "A wider terminal, or --all, also shows the other threads.");
}

std::string PaintExplanations(std::string_view text) {
  constexpr std::pair<std::string_view, Ink> kStandings[] = {{") does not respond: ", Ink::kRed},
                                                             {") may not respond: ", Ink::kYellow},
                                                             {") responds: ", Ink::kGreen},
                                                             {") shows no freeze: ", Ink::kGreen}};
  const auto paint = [&](std::string_view line) {
    if (line.empty() || (line.starts_with(' ') && !line.starts_with("  verdict"))) return std::string(line);
    for (const auto& [words, ink] : kStandings) {
      const size_t found = line.find(words);
      if (found == std::string_view::npos) continue;
      const size_t end = found + words.find(':');
      return Inked(ink, line.substr(0, end)) + std::string(line.substr(end));
    }
    return Inked(Ink::kBold, line);
  };
  std::string painted;
  while (!text.empty()) painted += paint(base::TakeUntil('\n', &text)) + "\n";
  return painted;
}

Json ToJson(const Explanation& explanation) {
  const bool has_crashed = explanation.core && explanation.core->HasCrashed();
  Json json = {{"pid", explanation.pid},
               {"process", explanation.process},
               {"standing", has_crashed ? "ended" : StandingName(explanation.standing)},
               {"sentence", explanation.sentence},
               {"next", explanation.next},
               {"groups", Json::array()},
               {"report", explanation.report}};
  if (explanation.core) json["core"] = CoreJson(*explanation.core);
  for (const ThreadGroup& group : explanation.groups) json["groups"].push_back(GroupJson(group));
  return json;
}

}  // namespace lagwatch::tools
