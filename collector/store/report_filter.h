// SPDX-License-Identifier: Apache-2.0
// A filter of reports, and the table of its texts, from which come its parameters in the API, the SQL of both
// stores, and what matches. Context: background; pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/store/rows/report_row.h"

namespace lagwatch::collector {

// Empty fields match all reports.
struct ReportFilter {
  std::string app = {};
  std::string version = {};
  std::string kind = {};
  std::string verdict = {};
  std::string loop = {};
  std::string os = {};
  std::string user = {};
  std::string tag = {};
  std::string distribution = {};
  std::string cluster_key = {};  // of either level
  // Days since 1970 UTC in which hangs began, both included.
  std::optional<int64_t> first_day = std::nullopt;
  std::optional<int64_t> last_day = std::nullopt;

  bool operator==(const ReportFilter&) const = default;
};

struct FilterText {
  std::string_view name;  // of the column and of the API's parameter
  std::string ReportFilter::*wanted;
  std::string ReportRow::*column;
  bool is_of_segment;  // in SQLite: a column of the segments
};

inline constexpr std::array kFilterTexts = {
    FilterText{"app", &ReportFilter::app, &ReportRow::app, true},
    FilterText{"version", &ReportFilter::version, &ReportRow::version, true},
    FilterText{"kind", &ReportFilter::kind, &ReportRow::kind, true},
    FilterText{"verdict", &ReportFilter::verdict, &ReportRow::verdict, true},
    FilterText{"loop", &ReportFilter::loop, &ReportRow::loop, true},
    FilterText{"os", &ReportFilter::os, &ReportRow::os, true},
    FilterText{"user", &ReportFilter::user, &ReportRow::user, false},
    FilterText{"tag", &ReportFilter::tag, &ReportRow::tag, false},
    FilterText{"distribution", &ReportFilter::distribution, &ReportRow::distribution, false},
};

// Whether it has texts that no sums are kept by: only the reports themselves say what matches.
inline bool HasTextsOfReports(const ReportFilter& filter) {
  return std::ranges::any_of(kFilterTexts, [&](const FilterText& text) {
    return !text.is_of_segment && !(filter.*text.wanted).empty();
  });
}

// Whether the filter's texts match; its cluster and days do not count.
inline bool TextsMatch(const ReportFilter& filter, const ReportRow& report) {
  return std::ranges::all_of(kFilterTexts, [&](const FilterText& text) {
    const std::string& wanted = filter.*text.wanted;
    return wanted.empty() || wanted == report.*text.column;
  });
}

}  // namespace lagwatch::collector
