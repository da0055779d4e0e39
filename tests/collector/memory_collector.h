// SPDX-License-Identifier: Apache-2.0
// A whole collector without sockets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collector/ingest/group_commit.h"
#include "collector/ingest/ingest.h"
#include "collector/query/query_api.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {

// Opens a new store of the kind that this program's tests are about: in memory, unless the program says
// otherwise before them.
inline std::unique_ptr<collector::Store> (*open_store)() = []() -> std::unique_ptr<collector::Store> {
  return std::move(collector::SqliteStore::Open(":memory:").value());
};

// In their order.
inline std::vector<std::string> KeysOf(const collector::Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

class MemoryCollector {
 public:
  // The result of a batch of `reports` and `ends`.
  collector::IngestResult Submit(const std::vector<SampleReport>& reports,
                                 const std::vector<std::string>& ends = {}) {
    std::vector<std::string> encoded;
    for (const SampleReport& report : reports) encoded.push_back(report.Encode());
    return ingest.Submit(EncodeBatch(encoded, ends)).value();
  }

  collector::IngestResult SubmitRunEnds(const std::vector<report::RunEnd>& run_ends) {
    std::string batch;
    for (const report::RunEnd& end : run_ends)
      report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(end)}, &batch);
    return ingest.Submit(batch).value();
  }

  collector::IngestResult SubmitFrames(const std::vector<report::FrameSliceView>& slices) {
    std::string batch;
    for (const report::FrameSliceView& slice : slices)
      report::AppendToBatch({report::RecordType::kFrameSlice, EncodeFrames(slice)}, &batch);
    return ingest.Submit(batch).value();
  }

  collector::Json Get(const std::string& path, const std::string& query = "") const {
    return collector::Json::parse(query_api.Get(path, query).body);
  }

  std::unique_ptr<collector::Store> store = open_store();
  collector::Ingest ingest{store.get(), collector::Clusterer::Create("").value()};
  collector::GroupCommit commits{store.get()};
  collector::QueryApi query_api{store.get(), collector::Clusterer::Create("")->rules()};
};

}  // namespace lagwatch::testing
