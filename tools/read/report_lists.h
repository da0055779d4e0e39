// SPDX-License-Identifier: Apache-2.0
// Formats the collector's lists as tables for people, and its reports as text. Answers must have the API's
// shape: a missing field throws nlohmann::json::exception. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tools/read/endpoint.h"
#include "tools/read/report_parts.h"

namespace lagwatch::tools {

// `max_width` as in Table.
std::string ClusterTable(const Json& clusters, int level, size_t max_width);
// A cause's hangs, or all, by one text after the other, each with a title: the answer to a breakdown.
std::string BreakdownText(const Json& breakdown, const std::vector<std::string>& texts, size_t max_width);
// A cause's versions with their rates: "by_version" of the answer about it.
std::string CauseVersionTable(const Json& versions, size_t max_width);
// Two versions: a line for each, then a line for each cause, with both rates and their intervals.
std::string ComparisonText(const Json& comparison, int level, size_t max_width);
// One line for each loop and scene, with the number of frames of each quality.
std::string FrameTable(const Json& frames, size_t max_width);
// Reports that never came: one line for each program version, reason and cause.
std::string LossTable(const Json& losses, size_t max_width);
std::string ReportTable(const Json& reports, size_t max_width);
std::string TraceTable(const Json& traces, size_t max_width);
// A line for each version of a program, then slow tags and suppressed hangs for each, if any.
std::string UsageText(const Json& usage, size_t max_width);
// A line for each value of a key.
std::string ValueTable(const Json& values, size_t max_width);

// One report in full: header, flame graph, most expensive stack, wait chain, timeline, threads. `stacks`: how
// stacks are shown.
std::string ReportText(const Json& report, StackStyle stacks = StackStyle::kPlain);

}  // namespace lagwatch::tools
