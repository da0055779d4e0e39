// SPDX-License-Identifier: Apache-2.0
#include "collector/query/filter_parser.h"

#include <optional>

namespace lagwatch::collector {
namespace {

using base::Result;

// The day that holds that time, or nothing without it.
Result<std::optional<int64_t>> DayAt(const QueryString& query, std::string_view name) {
  if (query.Get(name).empty()) return std::optional<int64_t>();
  auto wall_ms = query.GetInt(name, 0, 0, INT64_MAX);
  if (!wall_ms.ok()) return wall_ms.status();
  return std::optional(*wall_ms / kMsPerDay);
}

}  // namespace

Result<ReportFilter> ParseFilter(const QueryString& query) {
  ReportFilter filter{.cluster_key = query.Get("cluster")};
  for (const FilterText& text : kFilterTexts) filter.*text.wanted = query.Get(text.name);
  auto first_day = DayAt(query, "from_ms");
  if (!first_day.ok()) return first_day.status();
  auto last_day = DayAt(query, "to_ms");
  if (!last_day.ok()) return last_day.status();
  filter.first_day = *first_day;
  filter.last_day = *last_day;
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
