// SPDX-License-Identifier: Apache-2.0
#include "collector/query/query_api.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "base/clock.h"
#include "base/text.h"
#include "collector/query/causes/cause_breakdown.h"
#include "collector/query/causes/cause_samples.h"
#include "collector/query/causes/package_shares.h"
#include "collector/query/filter_parser.h"
#include "collector/query/json/json_text.h"
#include "collector/query/json/report_json.h"
#include "collector/query/trace_queries.h"
#include "collector/query/usage/usage_hours.h"
#include "collector/query/usage_days.h"
#include "collector/query/usage_summary.h"
#include "collector/query/usage_values.h"
#include "collector/symbols/mapping/mapping_id.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kClusters = "/v1/clusters";
constexpr std::string_view kSamples = "/samples";      // of a cluster
constexpr std::string_view kBreakdown = "/breakdown";  // likewise
constexpr std::string_view kBreakdownOfAll = "/v1/breakdown";
constexpr std::string_view kCompare = "/v1/compare";
constexpr std::string_view kValues = "/v1/values";
constexpr std::string_view kReports = "/v1/reports";
constexpr std::string_view kTraces = "/v1/traces";
constexpr std::string_view kProbes = "/v1/probes";
constexpr std::string_view kFrames = "/v1/frames";
constexpr std::string_view kUsage = "/v1/usage";
constexpr std::string_view kLosses = "/v1/losses";
constexpr std::string_view kMissingSymbols = "/v1/missing-symbols";
constexpr int64_t kMaxUsageDays = 10'000;
constexpr size_t kMaxListBytes = 32 << 20;

// The part of `path` after `collection` and a slash; empty without one.
std::string_view ItemOf(std::string_view collection, std::string_view path) {
  if (!path.starts_with(collection)) return {};
  path.remove_prefix(collection.size());
  return path.starts_with('/') ? path.substr(1) : std::string_view();
}

Status NoSuchReport() {
  return {StatusCode::kNotFound, "no such report; " + std::string(kReports) + " lists them"};
}

Status NoList() { return {StatusCode::kInvalid, "only lists are available as CSV"}; }

std::string ModuleOf(const StoredReport& stored, const std::string& build_id) {
  if (IsMappingId(build_id)) return std::string(kJavaModule);
  const auto report = report::DecodeReport(stored.payload);
  if (!report.ok()) return "";
  const auto module = std::ranges::find(report->modules, build_id, &report::Module::build_id);
  return module == report->modules.end() ? "" : module->path;
}

}  // namespace

Response QueryApi::Get(std::string_view path, std::string_view query_text) const {
  auto query = QueryString::Parse(query_text);
  if (!query.ok()) return ErrorResponse(query.status());
  if (auto item = ItemOf(kTraces, path); !item.empty()) return traces_.Get(item, *query);
  if (auto id = ItemOf(kReports, path); !id.empty()) return Report(id, *query);
  if (auto script = ItemOf(kProbes, path); !script.empty()) return probes_.Get(script, *query);
  const std::string format = query->Get("format");
  if (!format.empty() && format != "json" && format != "csv")
    return ErrorResponse(Status(StatusCode::kInvalid, "format must be json or csv"));
  Answer answer = Dispatch(path, *query);
  if (!answer.ok()) return ErrorResponse(answer.status());
  std::string text = JsonText(*answer);
  if (text.size() > kMaxListBytes && answer->is_array()) {
    return ErrorResponse(Status(StatusCode::kTooLarge, "the list would have more than " +
                                                           std::to_string(kMaxListBytes >> 20) +
                                                           " MiB; request fewer entries (limit=)"));
  }
  if (format != "csv") return {200, std::move(text)};
  if (!answer->is_array()) return ErrorResponse(NoList());
  return {.status = 200, .body = CsvText(*answer), .content_type = "text/csv; charset=utf-8"};
}

QueryApi::Answer QueryApi::Dispatch(std::string_view path, const QueryString& query) const {
  if (path == kClusters) return clusters_.List(query);
  if (path == kReports) return Reports(query);
  if (path == kBreakdownOfAll) return clusters_.BreakdownOfAll(query);
  if (path == kCompare) return clusters_.Compare(query);
  if (path == kValues) return Values(query);
  if (path == kTraces) return traces_.List(query);
  if (path == kProbes) return probes_.List(query);
  if (path == kFrames) return Frames(query);
  if (path == kUsage) return Usage(query);
  if (path == kLosses) return Losses(query);
  if (path == kMissingSymbols) return MissingSymbols(query);
  if (auto key = ItemOf(kClusters, path); !key.empty()) {
    if (key.ends_with(kBreakdown))
      return clusters_.Breakdown(std::string(key.substr(0, key.size() - kBreakdown.size())), query);
    if (!key.ends_with(kSamples)) return clusters_.One(std::string(key), query);
    key.remove_suffix(kSamples.size());
    return clusters_.Samples(std::string(key), query);
  }
  return Status(StatusCode::kNotFound, "nothing is at this path; try " + std::string(kClusters));
}

QueryApi::Answer QueryApi::Reports(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  auto before = LAGWATCH_TRY(ParseBefore(query));
  auto reports = LAGWATCH_TRY(annotated_.Reports(filter, limit, before));
  std::map<std::string, Cluster> clusters;
  Json answer = Json::array();
  std::vector<base::Uuid> ids;
  for (const ReportRow& report : reports) {
    ids.push_back(report.id);
    auto known = clusters.find(report.level1_key);
    if (known == clusters.end()) {
      auto found = LAGWATCH_TRY(store_->FindCluster(report.level1_key));
      known = clusters.emplace(report.level1_key, found.value_or(Cluster{})).first;
    }
    answer.push_back(ReportHeaderJson(report, known->second.frames));
  }
  if (Status added = traces_.AddTraceCounts(ids, &answer); !added.ok()) return added;
  if (Status added = AddExits(reports, answer); !added.ok()) return added;
  return answer;
}

QueryApi::Answer QueryApi::Values(const QueryString& query) const {
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  auto reports = LAGWATCH_TRY(annotated_.Reports(filter, kMaxLimit));
  return ValuesJson(reports);
}

QueryApi::Answer QueryApi::Frames(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  auto summaries = LAGWATCH_TRY(store_->Frames(filter, limit));
  Json answer = Json::array();
  for (const FrameSummary& summary : summaries) answer.push_back(FramesJson(summary));
  return answer;
}

QueryApi::Answer QueryApi::Usage(const QueryString& query) const {
  const std::string by = query.Get("by");
  if (by != "hour" && !query.Get("loop").empty()) return Status(StatusCode::kInvalid, "loop needs by=hour");
  if (by != "value" && !query.Get("key").empty()) return Status(StatusCode::kInvalid, "key needs by=value");
  if (by == "hour") return UsageByHour(query);
  if (by == "value") return UsageByValue(query);
  if (by == "day") return UsageByDay(query);
  if (!by.empty()) return Status(StatusCode::kInvalid, "by must be day, hour or value");
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  UsageSummaries summaries;
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  filter.first_day = filter.last_day = std::nullopt;
  Status visited = store_->ForEachUsage(filter, [&](std::string_view payload) {
    if (auto usage = report::DecodeUsage(payload); usage.ok()) summaries.Add(*usage);
  });
  if (!visited.ok()) return visited;
  auto exits = LAGWATCH_TRY(store_->CountExits(filter));
  for (const ExitCount& exit : exits) summaries.Add(exit);
  Json answer = Json::array();
  for (const UsageSummary& summary : std::move(summaries).Take()) {
    if (static_cast<int64_t>(answer.size()) == limit) break;
    answer.push_back(UsageJson(summary));
  }
  AddQuotas(&answer);
  return answer;
}

void QueryApi::AddQuotas(Json* usage) const {
  if (app_quota_ == nullptr) return;
  const auto uses = app_quota_->Uses(base::SystemClock().WallMs());
  for (Json& entry : *usage) {
    const auto found = uses.find(entry["app"].get_ref<const std::string&>());
    if (found == uses.end()) continue;
    entry["quota"] = {{"reports_a_day", found->second.reports_a_day},
                      {"reports_today", found->second.today},
                      {"refused_today", found->second.refused_today}};
  }
}

namespace {

// Gives `add` the records that began on one of the filter's days.
template <typename Store, typename Add>
Status ForEachUsageOfDays(const Store& store, const ReportFilter& filter, const Add& add) {
  return store->ForEachUsage(filter, [&](std::string_view payload) {
    const auto usage = report::DecodeUsage(payload);
    if (!usage.ok()) return;
    const int64_t day = ToSigned(usage->begin_wall_ms) / kMsPerDay;
    if (day >= filter.first_day.value_or(0) && day <= filter.last_day.value_or(INT64_MAX)) add(*usage);
  });
}

}  // namespace

QueryApi::Answer QueryApi::UsageByDay(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxUsageDays));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  UsageDays days;
  Status visited = ForEachUsageOfDays(store_, filter, [&](const report::Usage& usage) { days.Add(usage); });
  if (!visited.ok()) return visited;
  return days.ToJson(static_cast<size_t>(limit));
}

QueryApi::Answer QueryApi::UsageByValue(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxUsageDays));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  UsageValues values;
  const std::string key = query.Get("key");
  Status visited =
      ForEachUsageOfDays(store_, filter, [&](const report::Usage& usage) { values.Add(usage, key); });
  if (!visited.ok()) return visited;
  return values.ToJson(static_cast<size_t>(limit));
}

QueryApi::Answer QueryApi::UsageByHour(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxUsageDays));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  UsageHours hours;
  Status visited = store_->ForEachUsage(filter, [&](std::string_view payload) {
    if (const auto usage = report::DecodeUsage(payload); usage.ok()) hours.Add(*usage, query.Get("loop"));
  });
  if (!visited.ok()) return visited;
  return hours.ToJson(filter.first_day.value_or(0), filter.last_day.value_or(INT64_MAX),
                      static_cast<size_t>(limit));
}

QueryApi::Answer QueryApi::Losses(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  auto losses = LAGWATCH_TRY(store_->Losses(filter));
  Json answer = Json::array();
  for (const LossRow& loss : losses) {
    if (static_cast<int64_t>(answer.size()) == limit) break;
    answer.push_back(LossJson(loss));
  }
  return answer;
}

// Module and app are those of one report; others may have them elsewhere.
QueryApi::Answer QueryApi::MissingSymbols(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto builds = LAGWATCH_TRY(store_->UnnamedBuilds(limit));
  Json answer = Json::array();
  for (const UnnamedBuild& build : builds) {
    auto reports = LAGWATCH_TRY(store_->ReportsWithUnnamed(build.build_id, 1));
    if (reports.empty()) continue;  // they were removed meanwhile
    answer.push_back({{"build_id", base::ToHex(build.build_id)},
                      {"module", ModuleOf(reports.front(), build.build_id)},
                      {"app", reports.front().row.app},
                      {"version", reports.front().row.version},
                      {"reports", build.reports}});
  }
  return answer;
}

Response QueryApi::Report(std::string_view id, const QueryString& query) const {
  const std::string format = query.Get("format");
  if (format == "csv") return ErrorResponse(NoList());
  auto resolved = ResolveId(id);
  if (!resolved.ok()) return ErrorResponse(resolved.status());
  auto stored = store_->FindReport(*resolved);
  if (!stored.ok()) return ErrorResponse(stored.status());
  if (!*stored) return ErrorResponse(NoSuchReport());
  if (format.empty() || format == "json") {
    const std::string stacks = query.Get("stacks");
    if (!stacks.empty() && stacks != "table")
      return ErrorResponse(Status(StatusCode::kInvalid, "stacks must be table"));
    auto text = ReportJson(**stored, !stacks.empty());
    return text.ok() ? Response{200, std::move(*text)} : ErrorResponse(text.status());
  }
  const auto report = DecodeStored(**stored);
  if (!report.ok()) return ErrorResponse(report.status());
  return TraceFile(TraceOfReport(*report, SymbolNamer(*report, symbolizer_)), *resolved, query);
}

Result<std::string> QueryApi::ReportJson(const StoredReport& stored, bool has_table) const {
  auto report = LAGWATCH_TRY(DecodeStored(stored));
  const ReportRow& row = stored.row;
  auto cluster = LAGWATCH_TRY(store_->FindCluster(row.level1_key));
  Json answers = Json::array({ReportHeaderJson(row, cluster.value_or(Cluster{}).frames)});
  if (Status added = AddExits({&row, 1}, answers); !added.ok()) return added;
  Json answer = std::move(answers.front());
  const SymbolNamer namer(report, symbolizer_);
  answer["names_pending"] = namer.is_unavailable();
  const NamedStacks names(report, namer, rules_);
  AddStacks(report, namer, names, &answer);
  AddWaits(report, namer, names, &answer);
  PackageShares packages;
  for (const StackTime& time : StackTimesOf(row, report, INT64_MIN))
    packages.Add(report.stacks[time.stack], names, time.ns);
  answer["packages"] = packages.ToJson();
  answer["source"] = SourceJson(sources_, row.app, row.version);
  if (Status added = AddReportsOfOwners(row, report, &answer); !added.ok()) return added;
  AddCircumstances(report, &answer);
  AddCostTree(report, &answer);
  if (Status added = traces_.AddTraces(row.id, &answer); !added.ok()) return added;
  return ReportText(answer, report, namer, names, has_table);
}

// Adds what the awaited processes have reported themselves of that time.
Status QueryApi::AddReportsOfOwners(const ReportRow& row, const report::Report& report, Json* answer) const {
  constexpr size_t kMost = 10;
  constexpr int64_t kMostRead = 100;
  constexpr int64_t kAfterMs = 10'000;
  constexpr int64_t kLongestMs = 3'600'000;  // of a hang: reports of a longer time are not searched
  // Clients may say any time.
  const auto begin_ms = [&](const ReportRow& one) {
    return std::clamp<int64_t>(one.start_wall_ms, kLongestMs, int64_t{1} << 47);
  };
  const auto end_ms = [&](const ReportRow& one) {
    return begin_ms(one) + std::min(HangDurationNs(one) / base::kNsPerMs, kLongestMs);
  };
  for (size_t i = 0; i < report.waits.size(); ++i) {
    const base::Uuid& session_id = report.waits[i].owner_session_id;
    if (session_id == base::Uuid{}) continue;
    const auto newest_first = LAGWATCH_TRY(
        store_->ReportsOfRun(session_id, begin_ms(row) - kLongestMs, end_ms(row) + kAfterMs, kMostRead));
    Json reports = Json::array();
    std::set<base::Uuid> hangs;  // each once, by its first report
    for (const ReportRow& one : std::views::reverse(newest_first)) {
      // A hang without an end goes on.
      const bool is_meanwhile =
          begin_ms(one) <= end_ms(row) && (!one.duration_ns || end_ms(one) >= begin_ms(row));
      if (!is_meanwhile || !IsHang(one.kind) || !hangs.insert(one.hang_id).second) continue;
      reports.push_back({{"id", base::ToString(one.id)},
                         {"app", one.app},
                         {"loop", one.loop},
                         {"duration_ms", ToMs(HangDurationNs(one))}});
    }
    if (reports.size() > kMost)
      reports.erase(reports.begin(), reports.end() - static_cast<Json::difference_type>(kMost));
    (*answer)["waits"][i]["owner"]["reports"] = std::move(reports);
  }
  return {};
}

// Adds how the runs of the reports ended, as the next starts reported it.
Status QueryApi::AddExits(std::span<const ReportRow> reports, Json& answer) const {
  std::set<std::string> seen;
  std::vector<base::Uuid> sessions;
  for (const ReportRow& report : reports) {
    if (seen.insert(base::ToString(report.session_id)).second) sessions.push_back(report.session_id);
  }
  auto ends = LAGWATCH_TRY(store_->RunEndsOf(sessions));
  std::map<std::string, Json> exits;
  for (const RunEndRow& end : ends) exits.emplace(base::ToString(end.session_id), ExitJson(end));
  for (size_t i = 0; i < reports.size(); ++i) {
    const auto found = exits.find(base::ToString(reports[i].session_id));
    answer[i]["exit"] = found == exits.end() ? Json() : found->second;
  }
  return {};
}

Result<base::Uuid> QueryApi::ResolveId(std::string_view id) const {
  constexpr std::string_view kFirst = "00000000-0000-0000-0000-000000000000";
  constexpr std::string_view kLast = "ffffffff-ffff-ffff-ffff-ffffffffffff";
  size_t known = std::min(id.size(), kFirst.size());
  auto first = base::TryParseUuid(std::string(id) + std::string(kFirst.substr(known)));
  auto last = base::TryParseUuid(std::string(id) + std::string(kLast.substr(known)));
  if (!first || !last) {
    return Status(StatusCode::kInvalid, "a report's id looks like 01932d5c-7a4e-7cc0-98c4-dc0c0c07398f");
  }
  auto ids = LAGWATCH_TRY(store_->FindIds(*first, *last, 2));
  if (ids.empty()) return NoSuchReport();
  if (ids.size() > 1)
    return Status(StatusCode::kInvalid, "several reports' ids begin with this; give more digits");
  return ids.front();
}

}  // namespace lagwatch::collector
