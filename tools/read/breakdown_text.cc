// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "tools/read/report_lists.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

std::string SecondsOf(const Json& ms) { return ThreeDigits(ms.get<double>() / 1000); }
std::string Percent(const Json& share) { return Format("%.1f %%", 100 * share.get<double>()); }

std::string PartTable(const std::string& name, const Json& part, size_t max_width) {
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  Table table({{title, Table::Align::kLeft, /*is_elastic=*/true},
               {"SHARE", Table::Align::kRight},
               {"HANG-S", Table::Align::kRight},
               {"HANGS", Table::Align::kRight, false, /*leave_out=*/2},
               {"USERS", Table::Align::kRight, false, 1}});
  for (const Json& each : part.at("values")) {
    const Json& estimated = each.at("estimated");
    const std::string value = Text(each, "value");
    table.AddRow({value.empty() ? "(not known)" : value, Percent(each.at("share")),
                  SecondsOf(estimated.at("hang_ms")), Format("%.0f", estimated.at("hangs").get<double>()),
                  each.at("users").dump()});
  }
  std::string text = table.ToText(max_width);
  if (const int64_t more = part.at("more").get<int64_t>(); more > 0)
    text += "and " + std::to_string(more) + " more\n";
  return text;
}

}  // namespace

std::string BreakdownText(const Json& breakdown, const std::vector<std::string>& texts, size_t max_width) {
  const Json& all = breakdown.at("all");
  if (all.at("reports") == 0) return "no hangs match\n";
  const int64_t hangs = all.at("hangs").get<int64_t>();
  const int64_t users = all.at("users").get<int64_t>();
  std::string text = std::to_string(hangs) + (hangs == 1 ? " hang" : " hangs") + ", " +
                     SecondsOf(all.at("estimated").at("hang_ms")) + " s, of " + std::to_string(users) +
                     (users == 1 ? " user" : " users") + "; the user with the most time has " +
                     Percent(all.at("largest_user_share")) + " of it\n";
  for (const std::string& name : texts) text += "\n" + PartTable(name, breakdown.at(name), max_width);
  return text;
}

std::string CauseVersionTable(const Json& versions, size_t max_width) {
  Table table({{"APP", Table::Align::kLeft, /*is_elastic=*/true},
               {"VERSION"},
               {"HANGS", Table::Align::kRight},
               {"USERS", Table::Align::kRight, false, /*leave_out=*/1},
               {"HANG-S", Table::Align::kRight, false, 2},
               {"S/HOUR", Table::Align::kRight},
               {"95 % INTERVAL", Table::Align::kRight}});
  for (const Json& each : versions) {
    const Json& rate = each.at("hang_ms_per_hour");
    const Json interval = each.value("hang_ms_per_hour_interval", Json());
    table.AddRow(
        {Text(each, "app"), Text(each, "version"), each.at("hangs").dump(), each.at("users").dump(),
         SecondsOf(each.at("estimated").at("hang_ms")), rate.is_null() ? "-" : SecondsOf(rate),
         interval.is_null() ? "-" : SecondsOf(interval.at("low")) + " to " + SecondsOf(interval.at("high"))});
  }
  return table.ToText(max_width);
}

}  // namespace lagwatch::tools
