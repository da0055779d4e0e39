// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "tools/read/report_lists.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

constexpr double kMsPerHour = 3'600'000;
constexpr double kMsPerSecond = 1000;

std::string Decimal(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string Hours(const Json& ms) { return Decimal(ms.get<double>() / kMsPerHour, 2); }
std::string Seconds(const Json& ms) { return ThreeDigits(ms.get<double>() / kMsPerSecond); }

std::string NameOf(const Json& program) {
  return program.at("app").get<std::string>() + " " + program.at("version").get<std::string>();
}

// The figures split into background and foreground, if the program reported any background time.
std::string BackgroundText(const Json& program) {
  const Json background = program.value("background", Json());  // older collectors do not return it
  if (!background.is_object() || background.at("watched_ms").get<double>() <= 0) return "";
  auto of = [](double watched_ms, double hangs, double hang_ms) {
    return Hours(watched_ms) + " h, " + Decimal(hangs, 0) + (hangs == 1 ? " hang, " : " hangs, ") +
           Seconds(hang_ms) + " s, " + (watched_ms > 0 ? Seconds(hang_ms / watched_ms * kMsPerHour) : "-") +
           " s/hour";
  };
  auto number = [](const Json& usage, const char* key) { return usage.at(key).get<double>(); };
  auto rest = [&](const char* key) { return number(program, key) - number(background, key); };
  return "\nOf " + Printable(NameOf(program)) +
         " in the foreground: " + of(rest("watched_ms"), rest("hangs"), rest("hang_ms")) +
         "; in the background: " +
         of(number(background, "watched_ms"), number(background, "hangs"), number(background, "hang_ms")) +
         "\n";
}

}  // namespace

std::string UsageText(const Json& usage, size_t max_width) {
  Table table({{"PROGRAM", Table::Align::kLeft, true},
               {"VERSION"},
               {"USERS", Table::Align::kRight},
               {"HOURS", Table::Align::kRight},
               {"DISPATCHES", Table::Align::kRight},
               {"HANGS", Table::Align::kRight},
               {"HANG S", Table::Align::kRight},
               {"S/HOUR", Table::Align::kRight},
               {"MEDIAN", Table::Align::kRight},
               {"P90", Table::Align::kRight}});
  std::string details;
  for (const Json& program : usage) {
    const Json& rates = program.at("hang_ms_per_hour");
    table.AddRow({program.at("app").get<std::string>(), program.at("version").get<std::string>(),
                  program.at("users").dump(), Hours(program.at("watched_ms")),
                  program.at("dispatches").dump(), program.at("hangs").dump(), Seconds(program.at("hang_ms")),
                  Seconds(rates.at("all")), Seconds(rates.at("p50")), Seconds(rates.at("p90"))});
    details += BackgroundText(program);
    if (!program.at("slow").empty()) {
      Table slow({{"LOOP"},
                  {"TAG", Table::Align::kLeft, true},
                  {"COUNT", Table::Align::kRight},
                  {"TOTAL", Table::Align::kRight},
                  {"LONGEST", Table::Align::kRight}});
      for (const Json& tag : program.at("slow")) {
        slow.AddRow({tag.at("loop").get<std::string>(), tag.at("tag").get<std::string>(),
                     tag.at("count").dump(), ShortDuration(tag.at("total_ms").get<double>()),
                     ShortDuration(tag.at("longest_ms").get<double>())});
      }
      details += "\nSlow dispatches of " + Printable(NameOf(program)) + "\n" + slow.ToText(max_width);
    }
    if (!program.at("suppressed").empty()) {
      details += "\nNot reported of " + Printable(NameOf(program)) + ":";
      const char* separator = " ";
      for (const auto& [reason, count] : program.at("suppressed").items()) {
        details += separator + count.dump() + " " + Printable(reason);
        separator = ", ";
      }
      details += "\n";
    }
    const Json exits = program.value("exits", Json::object());  // older collectors do not return it
    if (!exits.empty()) details += "\nRuns of " + Printable(NameOf(program)) + " ended by:";
    const char* separator = " ";
    for (const auto& [reason, runs] : exits.items()) {
      details += separator + runs.dump() + " " + Printable(reason);
      separator = ", ";
    }
    if (!exits.empty()) details += "\n";
  }
  return table.ToText(max_width) + details;
}

std::string ValueTable(const Json& values, size_t max_width) {
  Table table({{"PROGRAM"},
               {"VALUE", Table::Align::kLeft, true},
               {"USERS", Table::Align::kRight},
               {"HOURS", Table::Align::kRight},
               {"HANGS", Table::Align::kRight},
               {"HANG S", Table::Align::kRight},
               {"S/HOUR", Table::Align::kRight},
               {"MEDIAN", Table::Align::kRight},
               {"P90", Table::Align::kRight}});
  for (const Json& each : values) {
    const Json& rates = each.at("hang_ms_per_hour");
    const auto value = each.at("value").get<std::string>();
    table.AddRow({each.at("app").get<std::string>(), value.empty() ? "(not set)" : value,
                  each.at("users").dump(), Hours(each.at("watched_ms")), each.at("hangs").dump(),
                  Seconds(each.at("hang_ms")), Seconds(rates.at("all")), Seconds(rates.at("p50")),
                  Seconds(rates.at("p90"))});
  }
  return table.ToText(max_width);
}

}  // namespace lagwatch::tools
