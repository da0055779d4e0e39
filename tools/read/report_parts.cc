// SPDX-License-Identifier: Apache-2.0
#include "tools/read/report_parts.h"

#include "base/system/system_calls.h"
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

std::string SyscallName(uint64_t number, std::string_view machine) {
  const char* name = nullptr;
  const auto own_number = static_cast<int64_t>(number);
  if (machine == "x86_64") name = base::kX86_64Calls.Of(own_number).name;
  if (machine == "aarch64") name = base::kAarch64Calls.Of(own_number).name;
  return name != nullptr ? name : "syscall " + std::to_string(number);
}

}  // namespace lagwatch::tools
