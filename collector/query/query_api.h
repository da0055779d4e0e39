// SPDX-License-Identifier: Apache-2.0
// The reading half of the API, without HTTP: the collector serves it, and the command line asks it directly
// about a spool. The answers' shapes are in collector/API.md. Context: background. Thread-safe.
#pragma once

#include <string_view>
#include <utility>

#include "base/status.h"
#include "collector/query/json_text.h"
#include "collector/query/query_string.h"
#include "collector/query/response.h"
#include "collector/store/store.h"
#include "collector/symbols/symbolizer.h"
#include "policies/cluster_key.h"

namespace lagwatch::collector {

class QueryApi {
 public:
  // Borrows `store` and `symbolizer`, which may be null: then names are those that clients knew.
  // `wait_frames` are those that reports are clustered with.
  QueryApi(Store* store, policies::WaitFrames wait_frames, Symbolizer* symbolizer = nullptr)
      : store_(store), wait_frames_(std::move(wait_frames)), symbolizer_(symbolizer) {}

  // Whether `path` is one that Get answers.
  static bool Serves(std::string_view path);

  //   /v1/clusters         level=1|2 app= version= limit=
  //   /v1/clusters/{key}
  //   /v1/reports          cluster= app= version= limit=
  //   /v1/frames           app= version= limit=
  //   /v1/reports/{id}     also the beginning of an id, when only one report has it
  //   /v1/usage            app= version= user= limit=
  Response Get(std::string_view path, std::string_view query) const;

 private:
  using Answer = base::Result<Json>;

  Answer Dispatch(std::string_view path, std::string_view query) const;
  Answer Clusters(const QueryString& query) const;
  Answer OneCluster(std::string_view key) const;
  Answer Reports(const QueryString& query) const;
  Answer Frames(const QueryString& query) const;
  Answer Usage(const QueryString& query) const;
  Answer Losses(const QueryString& query) const;
  Answer OneReport(std::string_view id) const;
  base::Result<base::Uuid> ResolveId(std::string_view id) const;

  Store* store_;
  policies::WaitFrames wait_frames_;
  Symbolizer* symbolizer_;
};

}  // namespace lagwatch::collector
