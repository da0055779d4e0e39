// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "collector/ingest/ingest.h"
#include "collector/query/query_api.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tools/read/output.h"
#include "tools/read/report_source.h"

namespace lagwatch::tools {
namespace {

// Of one's own machine: none is packed, and they are in memory already.
constexpr report::UnpackLimits kAsManyAsThereAre{.record_count = SIZE_MAX};
constexpr collector::TraceLimits kAllTraces{.traces_a_day = INT64_MAX, .bytes_a_day = INT64_MAX};

// A collector without server and disk.
class SpoolSource final : public ReportSource {
 public:
  SpoolSource(std::unique_ptr<collector::Store> store, collector::Clusterer clusterer,
              std::unique_ptr<LocalSymbolizer> symbolizer)
      : store_(std::move(store)),
        symbolizer_(std::move(symbolizer)),
        clusterer_(std::move(clusterer)),
        query_api_(store_.get(), clusterer_.rules(), symbolizer_.get()),
        ingest_(store_.get(), clusterer_, /*opener=*/nullptr, kAsManyAsThereAre, kAllTraces) {
    ingest_.NameBy(symbolizer_.get());
  }

  base::Status Load(const std::string& batch) {
    auto loaded = LAGWATCH_TRY(ingest_.Submit(batch));
    const auto first = std::ranges::find(loaded.records, collector::RecordResult::Kind::kRejected,
                                         &collector::RecordResult::kind);
    if (first != loaded.records.end()) {
      std::fprintf(stderr, "lagwatch: left out %" PRId64 " damaged records, the first because %s\n",
                   loaded.rejected, first->why.c_str());
    }
    return RepairSums();
  }

  base::Result<Answer> Ask(const std::string& path, const collector::QueryString& query) override {
    collector::Response response = query_api_.Get(path, query.ToText());
    if (symbolizer_) {
      for (const std::string& note : symbolizer_->TakeNotes()) Fail(note);
    }
    return Answer{response.status, std::move(response.body)};
  }

 private:
  // Of causes that reports were moved away from.
  base::Status RepairSums() {
    constexpr int64_t kAtOnce = 1000;
    while (LAGWATCH_TRY(store_->RepairSums(kAtOnce)) > 0) {
    }
    return {};
  }

  std::unique_ptr<collector::Store> store_;
  std::unique_ptr<LocalSymbolizer> symbolizer_;  // may be null
  collector::Clusterer clusterer_;
  collector::QueryApi query_api_;
  collector::Ingest ingest_;
};

}  // namespace

base::Result<std::unique_ptr<ReportSource>> OpenSpool(const std::string& directory,
                                                      const LoadRecords& load_records,
                                                      std::unique_ptr<LocalSymbolizer> symbolizer) {
  auto batch = LAGWATCH_TRY(load_records(directory));
  auto clusterer = LAGWATCH_TRY(collector::Clusterer::Create(""));
  auto store = LAGWATCH_TRY(collector::SqliteStore::Open(":memory:"));
  auto source = std::make_unique<SpoolSource>(std::move(store), std::move(clusterer), std::move(symbolizer));
  if (base::Status loaded = source->Load(batch); !loaded.ok()) return loaded;
  return std::unique_ptr<ReportSource>(std::move(source));
}

}  // namespace lagwatch::tools
