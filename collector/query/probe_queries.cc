// SPDX-License-Identifier: Apache-2.0
#include "collector/query/probe_queries.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collector/query/filter_parser.h"
#include "collector/store/query_limit.h"
#include "report/probes/probe_result.h"
#include "report/probes/probe_sums.h"
#include "report/probes/script_allowlist.h"

namespace lagwatch::collector {
namespace {

// The newest results that an answer is made of.
constexpr int64_t kMostResults = 5'000;
// The rows of their tables that it is made of: more would take longer than a question may.
constexpr size_t kMostRows = 500'000;

// Answers of clients about one script.
struct ProbeAnswers {
  std::string name;
  int64_t runs = 0;  // results that are no refusals
  int64_t newest_wall_ms = 0;
  uint64_t hits = 0;
  uint64_t left_out = 0;
  uint64_t missed = 0;
  int64_t turned_off = 0;
  std::set<std::string> users;
  std::map<std::pair<std::string, std::string>, int64_t> versions;  // runs, by app and version
  std::map<std::string, int64_t> refusals;                          // by reason
  report::ProbeSums tables;

  void Add(const TraceRow& row, const report::ProbeResult& result) {
    newest_wall_ms = std::max(newest_wall_ms, row.begin_wall_ms);
    if (name.empty()) name = result.name;
    if (!row.user.empty()) users.insert(row.user);
    if (!result.refusal.empty()) {
      ++refusals[result.refusal];
      return;
    }
    ++runs;
    ++versions[{row.app, row.version}];
    hits = report::SumOfCounts(hits, result.hits);
    left_out = report::SumOfCounts(left_out, result.left_out);
    missed = report::SumOfCounts(missed, result.missed);
    turned_off += result.is_off ? 1 : 0;
    tables.Add(result.tables);
  }
  int64_t refused() const {
    int64_t count = 0;
    for (const auto& [reason, of_reason] : refusals) count += of_reason;
    return count;
  }
};

// The client has gone, or the question has taken too long.
Status CheckLimit() {
  const QueryLimit* const limit = QueryLimit::OfThisThread();
  return limit != nullptr && limit->IsOver() ? limit->ToStatus() : Status();
}

Result<std::vector<StoredTrace>> ReadResults(StoredTraces* store, const QueryString& query,
                                             int64_t script_key) {
  const auto filter = LAGWATCH_TRY(ParseFilter(query));
  return store->ProbeResults(filter, script_key, kMostResults);
}

// Of all scripts, without tables.
Result<std::map<std::string, ProbeAnswers>> ReadHeaders(StoredTraces* store, const QueryString& query) {
  const auto stored = LAGWATCH_TRY(ReadResults(store, query, 0));
  std::map<std::string, ProbeAnswers> answers;
  for (const StoredTrace& each : stored) {
    if (Status status = CheckLimit(); !status.ok()) return status;
    // It was checked when it came.
    if (const auto result = report::UnpackProbeHeader(each.trace); result.ok())
      answers[result->script].Add(each.row, *result);
  }
  return answers;
}

// Errors: kNotFound if there are none.
Result<ProbeAnswers> ReadAnswers(StoredTraces* store, const QueryString& query, std::string_view script) {
  const Status none(StatusCode::kNotFound, "no client has answered about this script");
  const auto key = static_cast<int64_t>(report::KeyOfScript(script));
  if (key == 0) return none;  // a query with key 0 reads all scripts
  const auto stored = LAGWATCH_TRY(ReadResults(store, query, key));
  ProbeAnswers answers;
  size_t rows = 0;
  for (const StoredTrace& each : stored) {
    if (Status status = CheckLimit(); !status.ok()) return status;
    const auto result = report::UnpackProbeResult(each.trace);
    if (!result.ok() || result->script != script) continue;
    for (const report::ProbeTable& table : result->tables) rows += table.rows.size();
    if (rows > kMostRows) break;
    answers.Add(each.row, *result);
  }
  if (answers.runs == 0 && answers.refusals.empty()) return none;
  return answers;
}

Json HeaderJson(const std::string& script, const ProbeAnswers& answers) {
  return {{"script", script},
          {"name", answers.name},
          {"runs", answers.runs},
          {"refused", answers.refused()},
          {"users", answers.users.size()},
          {"newest_wall_ms", answers.newest_wall_ms}};
}

Json DetailsJson(const std::string& script, ProbeAnswers* answers) {
  Json json = HeaderJson(script, *answers);
  json["hits"] = answers->hits;
  json["left_out"] = answers->left_out;
  json["missed"] = answers->missed;
  json["turned_off"] = answers->turned_off;
  Json versions = Json::array();
  for (const auto& [version, runs] : answers->versions)
    versions.push_back({{"app", version.first}, {"version", version.second}, {"runs", runs}});
  Json refusals = Json::array();
  for (const auto& [reason, count] : answers->refusals)
    refusals.push_back({{"reason", reason}, {"count", count}});
  Json tables = Json::array();
  for (report::ProbeTable& table : answers->tables.Take()) {
    table.is_at_least |= table.rows.size() > report::ProbeResult::kMaxRows;
    // Rows that no client sends, a sum of many clients need not show.
    if (table.rows.size() > report::ProbeResult::kMaxRows) table.rows.resize(report::ProbeResult::kMaxRows);
    tables.push_back(Json::parse(report::ProbeTableJson(table), nullptr, /*allow_exceptions=*/false));
  }
  json["versions"] = std::move(versions);
  json["refusals"] = std::move(refusals);
  json["tables"] = std::move(tables);
  return json;
}

}  // namespace

Result<Json> ProbeQueries::List(const QueryString& query) const {
  const auto answers = LAGWATCH_TRY(ReadHeaders(store_, query));
  std::vector<std::pair<int64_t, Json>> scripts;
  for (const auto& [script, of_script] : answers)
    scripts.emplace_back(of_script.newest_wall_ms, HeaderJson(script, of_script));
  std::ranges::stable_sort(scripts, std::greater<>(), &std::pair<int64_t, Json>::first);
  Json list = Json::array();
  for (auto& [newest_wall_ms, script] : scripts) list.push_back(std::move(script));
  return list;
}

Response ProbeQueries::Get(std::string_view script, const QueryString& query) const {
  if (!report::IsScriptHash(script))
    return ErrorResponse(
        Status(StatusCode::kInvalid, "a script is named by its SHA-256, 64 lower-case hexadecimal digits"));
  const std::string format = query.Get("format");
  if (!format.empty() && format != "json" && format != "collapsed")
    return ErrorResponse(Status(StatusCode::kInvalid, "format must be json or collapsed"));
  auto answers = ReadAnswers(store_, query, script);
  if (!answers.ok()) return ErrorResponse(answers.status());
  if (format != "collapsed") return {200, JsonText(DetailsJson(std::string(script), &*answers))};
  return {.status = 200,
          .body = report::FoldedProbeStacks(answers->tables.Take()),
          .content_type = "text/plain; charset=utf-8"};
}

}  // namespace lagwatch::collector
