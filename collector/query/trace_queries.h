// SPDX-License-Identifier: Apache-2.0
// The API's queries for traces. Context: background. Thread-safe.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "collector/query/json/json_text.h"
#include "collector/query/query_string.h"
#include "collector/query/response.h"
#include "collector/store/store.h"
#include "collector/symbols/names/symbol_namer.h"
#include "collector/symbols/names/symbolizer.h"
#include "report/format/report.h"
#include "trace/model/trace.h"

namespace lagwatch::collector {

// The trace as a file, in the format that the query names; `id` is in the file's name. With `tid`, of that
// thread alone.
Response TraceFile(const trace::Trace& trace, const base::Uuid& id, const QueryString& query);

// A report's samples as a trace of the thread that it is about, for the formats of other programs.
// A sample stands for the time until the next one; the last for the time until the report was made. In a
// report about CPU use, it stands for the CPU time used there; of a slow dispatch, for the time spent there.
// A report without such times has its most expensive stack for as long as the hang lasted. Times begin with
// 0.
trace::Trace TraceOfReport(const report::Report& report, const SymbolNamer& namer);

class TraceQueries {
 public:
  // Borrows both; `symbolizer` may be null.
  TraceQueries(StoredTraces* store, Symbolizer* symbolizer) : store_(store), symbolizer_(symbolizer) {}

  // /v1/traces/{id}: the trace as a file, in the format that the query names; /v1/traces/{id}/flame.
  Response Get(std::string_view item, const QueryString& query) const;

  // /v1/traces: the newest, also those that belong to no report.
  base::Result<Json> List(const QueryString& query) const;

  // Adds to a report what traces there are of it; `traces` to each of a list, how many.
  base::Status AddTraces(const base::Uuid& report_id, Json* report) const;
  base::Status AddTraceCounts(std::span<const base::Uuid> report_ids, Json* reports) const;

 private:
  struct Opened {
    TraceRow row;
    trace::Trace trace;  // with names
    bool has_pending_names = false;
  };

  base::Result<Opened> Open(std::string_view id) const;
  Response File(std::string_view id, const QueryString& query) const;
  Response Flame(std::string_view id, const QueryString& query) const;

  StoredTraces* store_;
  Symbolizer* symbolizer_;
};

}  // namespace lagwatch::collector
