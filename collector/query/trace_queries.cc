// SPDX-License-Identifier: Apache-2.0
#include "collector/query/trace_queries.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "collector/ingest/trace_limits.h"
#include "collector/query/filter_parser.h"
#include "collector/query/json/trace_json.h"
#include "collector/symbols/names/trace_namer.h"
#include "trace/export/export.h"
#include "trace/format/trace_codec.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kFlame = "/flame";
constexpr std::string_view kOwnFormat = "lwtrace";
// A download of a trace does not wait longer for names.
constexpr std::chrono::seconds kMostForNames{10};

Status NoSuchTrace() { return {StatusCode::kNotFound, "no such trace (any more); /v1/traces lists them"}; }

// The thread that the query asks for; else the main one, else the first.
base::Result<int32_t> ThreadOf(const trace::Trace& trace, const QueryString& query) {
  auto wanted = LAGWATCH_TRY(query.GetInt("tid", 0, 0, INT32_MAX));
  const auto has = [&](int64_t tid) {
    return std::ranges::any_of(trace.threads, [&](const trace::Thread& each) { return each.tid == tid; });
  };
  if (wanted != 0) {
    if (!has(wanted)) return Status(StatusCode::kNotFound, "the trace has no such thread");
    return static_cast<int32_t>(wanted);
  }
  if (trace.threads.empty()) return Status(StatusCode::kNotFound, "the trace has no threads");
  return has(trace.pid) ? trace.pid : trace.threads.front().tid;
}

std::string_view TypeOf(std::string_view format) {
  if (format == "speedscope" || format == "chrome") return "application/json";
  if (format == "collapsed" || format == "nanoscope") return "text/plain; charset=utf-8";
  return "application/octet-stream";
}

std::string FormatNames() {
  std::string names(kOwnFormat);
  for (const trace::FormatInfo& info : trace::Formats()) names += ", " + std::string(info.name);
  return names;
}

}  // namespace

Response TraceFile(const trace::Trace& trace, const base::Uuid& id, const QueryString& query) {
  std::string name = query.Get("format");
  if (name.empty()) name = trace::Formats().front().name;
  const auto is_named = [&](const trace::FormatInfo& info) { return info.name == name; };
  const auto info = std::ranges::find_if(trace::Formats(), is_named);
  if (name != kOwnFormat && info == trace::Formats().end())
    return ErrorResponse(Status(StatusCode::kInvalid, "format must be one of " + FormatNames()));
  trace::ExportOptions options;
  if (!query.Get("tid").empty()) {
    auto tid = ThreadOf(trace, query);
    if (!tid.ok()) return ErrorResponse(tid.status());
    options.tid = *tid;
  }
  auto file = name == kOwnFormat ? base::Result<std::string>(trace::PackTrace(trace))
                                 : trace::Export(info->format, trace, options);
  if (!file.ok()) return ErrorResponse(file.status());
  const std::string suffix = name == kOwnFormat ? ".lwtrace" : std::string(info->suffix);
  return {.status = 200,
          .body = std::move(*file),
          .content_type = TypeOf(name),
          .content_disposition = "attachment; filename=\"lagwatch-" + base::ToString(id) + suffix + "\""};
}

Response TraceQueries::Get(std::string_view item, const QueryString& query) const {
  if (!item.ends_with(kFlame)) return File(item, query);
  item.remove_suffix(kFlame.size());
  return Flame(item, query);
}

base::Result<Json> TraceQueries::List(const QueryString& query) const {
  auto limit = LAGWATCH_TRY(query.GetInt("limit", kDefaultLimit, 1, kMaxLimit));
  auto filter = LAGWATCH_TRY(ParseFilter(query));
  auto before = LAGWATCH_TRY(ParseBefore(query));
  const auto traces = LAGWATCH_TRY(store_->ListTraces(filter, limit, before));
  Json list = Json::array();
  for (const TraceRow& trace : traces) list.push_back(TraceHeaderJson(trace));
  return list;
}

base::Result<TraceQueries::Opened> TraceQueries::Open(std::string_view id) const {
  const auto parsed = base::TryParseUuid(std::string(id));
  if (!parsed)
    return Status(StatusCode::kInvalid, "a trace's id looks like 01932d5c-7a4e-7cc0-98c4-dc0c0c07398f");
  auto stored = LAGWATCH_TRY(store_->FindTrace(*parsed));
  if (!stored) return NoSuchTrace();
  // It was within the limits that held when it came.
  auto trace = OpenTrace(stored->trace, size_t{1} << 30);
  if (!trace.ok()) return Status(StatusCode::kInternal, "the trace is damaged: " + trace.status().message());
  const bool is_complete = NameFrames(symbolizer_, kMostForNames, &*trace);
  return Opened{std::move(stored->row), std::move(*trace), !is_complete};
}

Response TraceQueries::File(std::string_view id, const QueryString& query) const {
  const auto opened = Open(id);
  return opened.ok() ? TraceFile(opened->trace, opened->row.id, query) : ErrorResponse(opened.status());
}

Response TraceQueries::Flame(std::string_view id, const QueryString& query) const {
  auto opened = Open(id);
  if (!opened.ok()) return ErrorResponse(opened.status());
  auto tid = ThreadOf(opened->trace, query);
  if (!tid.ok()) return ErrorResponse(tid.status());
  Json answer = TraceHeaderJson(opened->row);
  answer["names_pending"] = opened->has_pending_names;
  AddFlame(opened->trace, *tid, &answer);
  return {200, JsonText(answer)};
}

Status TraceQueries::AddTraces(const base::Uuid& report_id, Json* report) const {
  const auto traces = LAGWATCH_TRY(store_->TracesOf(std::span(&report_id, 1)));
  Json list = Json::array();
  for (const TraceRow& trace : traces) list.push_back(TraceHeaderJson(trace));
  (*report)["traces"] = std::move(list);
  return {};
}

Status TraceQueries::AddTraceCounts(std::span<const base::Uuid> report_ids, Json* reports) const {
  const auto traces = LAGWATCH_TRY(store_->TracesOf(report_ids));
  std::map<std::string, int64_t> counts;
  for (const TraceRow& trace : traces) ++counts[base::ToString(trace.report_id)];
  for (Json& report : *reports) {
    const auto found = counts.find(report["id"].get<std::string>());
    report["trace_count"] = found == counts.end() ? 0 : found->second;
  }
  return {};
}

}  // namespace lagwatch::collector
