// SPDX-License-Identifier: Apache-2.0
#include "tools/read/report_lists.h"

#include <algorithm>
#include <vector>

#include "policies/cluster/cluster_key.h"
#include "tools/read/report_parts.h"
#include "tools/read/table.h"

namespace lagwatch::tools {
namespace {

std::string Cause(const Json& frames) {
  auto names = frames.get<std::vector<std::string>>();
  return names.empty() ? "(no stack)" : Join(names, " < ");
}

// The cause's title, or its functions and the owner of its lock. A state other than new comes
// first, in brackets.
std::string CauseOf(const Json& cluster) {
  const Json& via = cluster.at("via");
  const Json title = cluster.value("title", Json());
  const std::string state = cluster.value("state", "new");
  std::string cause = title.is_string() ? title.get<std::string>() : Cause(cluster.at("frames"));
  if (!title.is_string() && via.is_string()) cause += " via " + via.get<std::string>();
  const Json holders = cluster.value("held_by", Json::array());
  if (!title.is_string() && !holders.empty()) cause += ", lock held by " + holders[0].get<std::string>();
  const std::string packages = PackageText(cluster);
  if (!packages.empty()) cause += " (" + packages + ")";
  const Json gone = cluster.value("not_seen_since", Json());
  if (gone.is_string()) cause = "[not seen since " + gone.get<std::string>() + "] " + cause;
  return state == "new" ? cause : "[" + state + "] " + cause;
}

// Causes that the newest version does not have come last.
std::vector<Json> SeenFirst(const Json& clusters) {
  std::vector<Json> sorted(clusters.begin(), clusters.end());
  std::ranges::stable_partition(
      sorted, [](const Json& cluster) { return cluster.value("not_seen_since", Json()).is_null(); });
  return sorted;
}

// A line for each cause that has reports which count for less than they say; empty without any.
std::string CappedLines(const Json& clusters) {
  std::string lines;
  for (const Json& cluster : clusters) {
    const Json capped = cluster.value("capped", Json());
    if (capped.is_null() || capped.at("reports") == 0) continue;
    lines += Text(cluster, "key") +
             ": reports beyond the collector's limits: " + capped.at("reports").dump() +
             ", hang time that does not count: " + ShortDuration(capped.at("hang_ms").get<double>()) + "\n";
  }
  return lines;
}

}  // namespace

std::string ClusterTable(const Json& clusters, int level, size_t max_width) {
  std::string cause_title = "CAUSE (innermost " + std::to_string(policies::FramesOfLevel(level)) + ")";
  Table table({{"HANG-S", Table::Align::kRight},
               {"HANGS", Table::Align::kRight, false, /*leave_out=*/2},
               {"USERS", Table::Align::kRight, false, 4},
               {"P95", Table::Align::kRight, false, 5},
               {cause_title, Table::Align::kLeft, /*is_elastic=*/true},
               {"VERSIONS", Table::Align::kLeft, false, 6},
               {"KEY", Table::Align::kLeft, false, 3}});
  for (const Json& cluster : SeenFirst(clusters)) {
    const Json& estimated = cluster.at("estimated");
    table.AddRow({ThreeDigits(estimated.at("hang_ms").get<double>() / 1000),
                  Format("%.0f", std::max(1.0, estimated.at("hangs").get<double>())),
                  cluster.at("users").dump(),
                  ShortDuration(cluster.at("duration_ms").at("p95").get<double>()), CauseOf(cluster),
                  Join(cluster.at("versions").get<std::vector<std::string>>(), " "), Text(cluster, "key")});
  }
  return table.ToText(max_width) + CappedLines(clusters);
}

namespace {

// "2.3.0: 27 hangs of 3 users in 8.5 hours, 1.52 s of hangs per hour"
std::string VersionLine(const Json& version) {
  const Json& rate = version.at("hang_ms_per_hour");
  const std::string hangs = version.at("hangs").dump();
  const std::string users = version.at("users").dump();
  return Text(version, "version") + ": " + hangs + (hangs == "1" ? " hang of " : " hangs of ") + users +
         (users == "1" ? " user" : " users") +
         (rate.is_null() ? ", watched time not known"
                         : " in " + ThreeDigits(version.at("watched_ms").get<double>() / 3.6e6) + " hours, " +
                               ThreeDigits(rate.get<double>() / 1000) + " s of hangs per hour") +
         "\n";
}

// "1.52 (1.2 … 1.9)", in seconds; "0 (… 0.012)" of a version without the cause; the hang time where no time
// is known to be watched.
std::string RateText(const Json& side) {
  const auto seconds = [](const Json& ms) { return ThreeDigits(ms.get<double>() / 1000); };
  if (side.at("hang_ms_per_hour").is_null()) return seconds(side.at("hang_ms")) + " s";
  const Json& interval = side.at("hang_ms_per_hour_interval");
  const std::string high = "… " + seconds(interval.at("high")) + ")";
  if (side.at("hangs") == 0) return "0 (" + high;
  return seconds(side.at("hang_ms_per_hour")) + " (" + seconds(interval.at("low")) + " " + high;
}

}  // namespace

std::string ComparisonText(const Json& comparison, int level, size_t max_width) {
  const Json& baseline = comparison.at("baseline");
  const Json& version = comparison.at("version");
  Table table(
      {{"CHANGE"},
       {Text(baseline, "version") + " S/H", Table::Align::kLeft, false, /*leave_out=*/2},
       {Text(version, "version") + " S/H", Table::Align::kLeft, false, 1},
       {"CAUSE (innermost " + std::to_string(policies::FramesOfLevel(level)) + ")", Table::Align::kLeft,
        /*is_elastic=*/true},
       {"KEY", Table::Align::kLeft, false, 3}});
  for (const Json& cause : comparison.at("causes")) {
    const Json& change = cause.at("change");
    table.AddRow({change.is_null() ? "" : change.get<std::string>(), RateText(cause.at("baseline")),
                  RateText(cause.at("version")), CauseOf(cause), Text(cause, "key")});
  }
  const std::string more = comparison.at("more_causes").dump();
  return PrintableLines(VersionLine(baseline) + VersionLine(version)) +
         (comparison.at("causes").empty() ? "" : "\n" + table.ToText(max_width)) +
         (more == "0" ? "" : "and " + more + " more; --limit shows them\n");
}

std::string LossTable(const Json& losses, size_t max_width) {
  Table table({{"APP"},
               {"REASON"},
               {"CAUSE-KEY", Table::Align::kLeft, /*is_elastic=*/true},
               {"REPORTS", Table::Align::kRight},
               {"ESTIMATED", Table::Align::kRight}});
  for (const Json& row : losses) {
    const Json& cause = row.at("cause_key");
    table.AddRow({Text(row, "app") + " " + Text(row, "version"), Text(row, "reason"),
                  cause.is_null() ? "" : cause.get<std::string>(), row.at("reports").dump(),
                  Format("%.0f", row.at("estimated").at("reports").get<double>())});
  }
  return table.ToText(max_width);
}

std::string FrameTable(const Json& frames, size_t max_width) {
  Table table({{"APP"},
               {"LOOP"},
               {"SCENE", Table::Align::kLeft, /*is_elastic=*/true},
               {"HZ", Table::Align::kRight},
               {"FPS", Table::Align::kRight},
               {"FRAMES", Table::Align::kRight},
               {"DROPPED", Table::Align::kRight},
               {"NORMAL", Table::Align::kRight},
               {"MIDDLE", Table::Align::kRight},
               {"HIGH", Table::Align::kRight},
               {"FROZEN", Table::Align::kRight},
               {"COSTLIEST STAGE"}});
  for (const Json& row : frames) {
    const Json& levels = row.at("levels");
    std::string stage;
    double most_ms = 0, all_ms = 0;
    for (const auto& [name, ms] : row.at("stage_ms").items()) {
      all_ms += ms.get<double>();
      if (ms.get<double>() <= most_ms) continue;
      most_ms = ms.get<double>();
      stage = name;
    }
    if (!stage.empty()) stage += Format(" %.0f %%", 100 * most_ms / all_ms);
    table.AddRow({Text(row, "app") + " " + Text(row, "version"), Text(row, "loop"), Text(row, "scene"),
                  Format("%.0f", row.at("refresh_hz").get<double>()),
                  Format("%.1f", row.at("fps").get<double>()), row.at("frames").dump(),
                  row.at("dropped").dump(), levels.at("normal").dump(), levels.at("middle").dump(),
                  levels.at("high").dump(), levels.at("frozen").dump(), stage});
  }
  return table.ToText(max_width);
}

std::string ReportTable(const Json& reports, size_t max_width) {
  Table table({{"STARTED (UTC)", Table::Align::kLeft, false, /*leave_out=*/1},
               {"LASTED", Table::Align::kRight},
               {"APP", Table::Align::kLeft, false, 2},
               {"LOOP", Table::Align::kLeft, false, 5},
               {"DISPATCH", Table::Align::kLeft, false, 4},
               {"CAUSE (innermost 2)", Table::Align::kLeft, /*is_elastic=*/true},
               {"RUN ENDED BY", Table::Align::kLeft, false, 6},
               {"ID", Table::Align::kLeft, false, 3}});
  for (const Json& report : reports) {
    table.AddRow({UtcTime(report.at("start_wall_ms").get<int64_t>()), Duration(report),
                  Text(report, "app") + " " + Text(report, "version"), Text(report, "loop"),
                  Text(report, "tag"), Cause(report.at("cause")), ExitText(report), Text(report, "id")});
  }
  return table.ToText(max_width);
}

std::string TraceTable(const Json& traces, size_t max_width) {
  Table table({{"BEGAN (UTC)"},
               {"SPANS", Table::Align::kRight},
               {"WHY"},
               {"APP"},
               {"KIB", Table::Align::kRight},
               {"ID"},
               {"REPORT"}});
  for (const Json& trace : traces) {
    const Json& report_id = trace.at("report_id");
    table.AddRow({UtcTime(trace.at("begin_wall_ms").get<int64_t>()),
                  ShortDuration(trace.at("duration_ms").get<double>()), Text(trace, "reason"),
                  Text(trace, "app") + " " + Text(trace, "version"),
                  std::to_string((trace.at("size_bytes").get<int64_t>() + 1023) / 1024), Text(trace, "id"),
                  report_id.is_null() ? "-" : report_id.get<std::string>()});
  }
  return table.ToText(max_width);
}

}  // namespace lagwatch::tools
