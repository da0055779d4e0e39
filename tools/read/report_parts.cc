// SPDX-License-Identifier: Apache-2.0
#include "tools/read/report_parts.h"

#include "tools/read/table.h"

namespace lagwatch::tools {

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

}  // namespace lagwatch::tools
