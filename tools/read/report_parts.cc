// SPDX-License-Identifier: Apache-2.0
#include "tools/read/report_parts.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/system/system_calls.h"
#include "policies/cluster/cause_key.h"
#include "policies/fact_names.h"
#include "policies/verdict.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

// The part of a path after its last slash.
std::string FileName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Whether a frame's name is its place already. Addresses of code made at run time mean nothing later.
bool HasPlace(const std::string& function) {
  return function.find("+0x") != std::string::npos || function == policies::kGeneratedCodeModule ||
         policies::IsLanguageModule(function);
}

// "cart.cc:42"; "line 42" of a script, whose name has its file; empty if the line is not known.
std::string LineOf(const Json& frame, bool is_script) {
  const Json line = frame.value("line", Json());
  const Json file = frame.value("file", Json());
  if (line.is_null()) return "";
  const bool has_file = !is_script && file.is_string();
  return has_file ? FileName(file.get<std::string>()) + ":" + line.dump() : "line " + line.dump();
}

// The place of a frame: its line, else its address in its module. Inlined calls have the address of the
// function that they are in.
std::string PlaceOf(const Json& frame) {
  const std::string module = Text(frame, "module");
  const bool is_script = policies::IsLanguageModule(module);
  std::string place = LineOf(frame, is_script);
  if (place.empty()) place = is_script ? module : FileName(module) + "+" + Text(frame, "offset");
  return place + (!is_script && frame.value("inlined", false) ? ", inlined" : "");
}

// The machine's load as a number, other shares as percent.
std::string FactLine(const std::string& name, const Json& value) {
  constexpr std::string_view kShare = "_permille";
  const bool is_share = name.ends_with(kShare) && value.is_number();
  if (!is_share)
    return "  " + name + "  " + (value.is_string() ? value.get<std::string>() : value.dump()) + "\n";
  const std::string what = name.substr(0, name.size() - kShare.size());
  if (name.starts_with("load_")) return "  " + what + Format("  %.2f\n", value.get<double>() / 1000);
  return "  " + what + Format("  %.1f %%\n", value.get<double>() / 10);
}

constexpr std::ptrdiff_t kFewestFolded = 3;
constexpr std::string_view kGuiltyMark = "> ";

// Whether the fact is worth a look in any case: a limit that is near, and pressure.
bool IsPressing(const std::string& name, const Json& value, const Json& facts) {
  constexpr int64_t kSomePermille = 100;
  constexpr double kNearLimit = 0.9;
  if (!value.is_number()) return name == policies::kProcessorUsersFact || name == policies::kHungTaskFact;
  if (name.ends_with("pressure_permille")) return value.get<int64_t>() >= kSomePermille;
  if (name == "open_fds")
    return value.get<double>() >= kNearLimit * facts.value("open_fds_limit", Json(1e18)).get<double>();
  return name == "swap_bytes" && value.get<int64_t>() != 0;
}

}  // namespace

bool IsDump(const Json& report) { return Text(report, "kind") == "dump"; }
bool IsOfCpu(const Json& report) {
  std::string kind = Text(report, "kind");
  return kind == "cpu" || kind == "cpu-average";
}

bool IsSlow(const Json& report) { return Text(report, "kind") == "slow"; }

std::string Duration(const Json& report) {
  if (IsOfCpu(report)) return "-";
  std::string duration = ShortDuration(report.at("duration_ms").get<double>());
  if (Text(report, "kind") == "killed-in-hang") return duration + " killed";
  if (IsDump(report)) return "dump";
  return report.at("ended").get<bool>() ? duration : "> " + duration;
}

std::string ExitText(const Json& report) {
  const Json exit = report.value("exit", Json());
  if (exit.is_null()) return "";
  return Text(exit, "reason") + (exit.at("signal").is_null() ? "" : ", signal " + exit.at("signal").dump());
}

std::string SyscallName(uint64_t number, std::string_view machine) {
  const char* name = nullptr;
  const auto own_number = static_cast<int64_t>(number);
  if (machine == "x86_64") name = base::kX86_64Calls.Of(own_number).name;
  if (machine == "aarch64") name = base::kAarch64Calls.Of(own_number).name;
  return name != nullptr ? name : "syscall " + std::to_string(number);
}

std::string StackLines(const Json& stack, const std::string& completeness, const std::string& indent,
                       StackStyle style) {
  std::string lines;
  const auto is_own = [](const Json& frame) { return frame.value("own", false); };
  const auto guilty = std::ranges::find_if(stack, is_own);
  for (auto frame_at = stack.begin(); frame_at != stack.end(); ++frame_at) {
    const Json& frame = *frame_at;
    const auto next_own = std::find_if(frame_at, stack.end(), is_own);
    // The innermost frame says in which call the thread is.
    if (style == StackStyle::kFolded && guilty != stack.end() && frame_at != stack.begin() &&
        next_own - frame_at >= kFewestFolded) {
      lines +=
          indent + "… (" + std::to_string(next_own - frame_at) + " frames of libraries and the system)\n";
      frame_at = next_own - 1;
      continue;
    }
    if (auto gap = frame.find("left_out_before"); gap != frame.end())
      lines += indent + "… (" + gap->dump() + " frames left out)\n";
    std::string function = Text(frame, "function");
    const bool is_guilty =
        style != StackStyle::kPlain && frame_at == guilty && indent.size() >= kGuiltyMark.size();
    lines += (is_guilty ? std::string(kGuiltyMark) + indent.substr(kGuiltyMark.size()) : indent) + function +
             (HasPlace(function) ? "" : "  (" + PlaceOf(frame) + ")") + "\n";
  }
  if (completeness == "none") lines += indent + "(could not be captured)\n";
  if (completeness == "cut" || completeness == "incomplete")
    lines += indent + "… (the outer callers are missing)\n";
  if (completeness == "probable")
    lines += indent + "(code without unwind tables: its callers are probable only)\n";
  return lines;
}

std::string VerdictText(const Json& verdict, const Json& facts) {
  constexpr size_t kMaxParts = 3;
  constexpr double kMinPercent = 1;
  struct Part {
    const char* name;
    double ms;
  };
  // Older collectors do not know all shares.
  auto ms = [&](const char* key) { return verdict.value(key, 0.0); };
  std::vector<Part> parts;
  for (const policies::TimeShare& share : policies::kTimeShares)
    parts.push_back({share.label, ms(share.json_name)});
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.ms > b.ms; });
  parts.resize(kMaxParts);
  double wall_ms = std::max(ms("wall_ms"), 0.001);
  std::vector<std::string> shares;
  for (const Part& part : parts) {
    double percent = 100 * part.ms / wall_ms;
    if (percent >= kMinPercent) shares.push_back(part.name + Format(" %.0f %%", percent));
  }
  const Json with_processor = facts.value(policies::kWithProcessorFact, Json());
  const std::string would_do = with_processor.is_string() ? with_processor.get<std::string>() + ", " : "";
  return would_do + Text(verdict, "word") + (shares.empty() ? "" : " (" + Join(shares, ", ") + ")");
}

std::string FactLines(const Json& facts) {
  std::string lines;
  for (const auto& [name, value] : facts.items()) {
    const bool is_in_verdict =
        name.starts_with(policies::kWaitsForFact) || name == policies::kWithProcessorFact;
    if (!is_in_verdict) lines += FactLine(name, value);
  }
  return lines.empty() ? "" : "\nFacts\n" + lines;
}

std::string PressingFactLines(const Json& facts) {
  std::string lines;
  for (const auto& [name, value] : facts.items()) {
    if (IsPressing(name, value, facts)) lines += FactLine(name, value);
  }
  return lines.empty() ? "" : "\nFacts\n" + lines;
}

std::string PrintableLines(const std::string& lines) {
  std::string printable;
  for (size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
    end = std::min(lines.find('\n', begin), lines.size());
    printable += Printable(std::string_view(lines).substr(begin, end - begin)) + "\n";
  }
  return printable;
}

}  // namespace lagwatch::tools
