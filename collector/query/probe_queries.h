// SPDX-License-Identifier: Apache-2.0
// The API's queries for probes that clients were asked for: their results, added up over clients. Context:
// background. Thread-safe.
#pragma once

#include <string_view>

#include "base/status.h"
#include "collector/query/json/json_text.h"
#include "collector/query/query_string.h"
#include "collector/query/response.h"
#include "collector/store/store.h"

namespace lagwatch::collector {

class ProbeQueries {
 public:
  // Borrows `store`.
  explicit ProbeQueries(StoredTraces* store) : store_(store) {}

  // /v1/probes: the scripts that there are results of, the newest first.
  base::Result<Json> List(const QueryString& query) const;
  // /v1/probes/{script}: its tables, with all clients' rows added up; with format=collapsed its stacks.
  Response Get(std::string_view script, const QueryString& query) const;

 private:
  StoredTraces* store_;
};

}  // namespace lagwatch::collector
