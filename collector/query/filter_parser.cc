// SPDX-License-Identifier: Apache-2.0
#include "collector/query/filter_parser.h"

namespace lagwatch::collector {
namespace {

// The day that holds that time, or nothing without it.
Result<std::optional<int64_t>> DayAt(const QueryString& query, std::string_view name) {
  if (query.Get(name).empty()) return std::optional<int64_t>();
  return std::optional(LAGWATCH_TRY(query.GetInt(name, 0, 0, INT64_MAX)) / kMsPerDay);
}

}  // namespace

Result<ReportFilter> ParseFilter(const QueryString& query) {
  ReportFilter filter{.cluster_key = query.Get("cluster")};
  for (const FilterText& text : kFilterTexts) filter.*text.wanted = query.Get(text.name);
  filter.first_day = LAGWATCH_TRY(DayAt(query, "from_ms"));
  filter.last_day = LAGWATCH_TRY(DayAt(query, "to_ms"));
  return filter;
}

Result<std::optional<base::Uuid>> ParseBefore(const QueryString& query) {
  const std::string id = query.Get("before");
  if (id.empty()) return std::optional<base::Uuid>();
  const auto before = base::TryParseUuid(id);
  if (!before) return base::Status(base::StatusCode::kInvalid, "before must be an id from the list");
  return before;
}

}  // namespace lagwatch::collector
