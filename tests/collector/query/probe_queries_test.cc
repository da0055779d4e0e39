// SPDX-License-Identifier: Apache-2.0
// Questions about results of probes, of which strangers may send many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/store/query_limit.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using testing::MemoryCollector;

const std::string kScript(64, 'b');

// A thousand rows, with keys that no other result has.
report::ProbeResult ResultOfItsOwn(int number) {
  report::ProbeTable table{"files", "count", "", false, {"path"}, {}};
  for (size_t i = 0; i < report::ProbeResult::kMaxRows; ++i)
    table.rows.push_back(
        {.key = {"\"/u" + std::to_string(number) + "/f" + std::to_string(i) + '"'}, .count = 1});
  return {.script = kScript, .name = "files", .hits = 1'000, .tables = {table}};
}

class ProbeQueriesTest : public ::testing::Test {
 protected:
  void AddResults(int count) {
    std::string batch;
    for (int i = 0; i < count; ++i)
      testing::AppendTrace(testing::ProbeAnswerOf(ResultOfItsOwn(results_++)), &batch);
    ASSERT_EQ(collector_.ingest.Submit(batch)->accepted, count);
  }
  MemoryCollector collector_;
  const std::string path_ = "/v1/probes/" + kScript;
  int results_ = 0;
};

TEST_F(ProbeQueriesTest, ShowsTheLargestRowsAndSaysThatThereAreMore) {
  AddResults(2);
  const Json answers = collector_.Get(path_);
  EXPECT_EQ(answers["runs"], 2);
  EXPECT_EQ(answers["hits"], 2'000);
  EXPECT_EQ(answers["tables"][0]["rows"].size(), report::ProbeResult::kMaxRows);
  EXPECT_EQ(answers["tables"][0]["is_at_least"], true);
  EXPECT_EQ(collector_.Get("/v1/probes")[0]["runs"], 2);
}

TEST_F(ProbeQueriesTest, EndsWhenItsClientHasGone) {
  AddResults(1);
  QueryLimit limit(std::chrono::hours(1));
  // The store looks at the limit, too, but not while results are added up.
  class Cancelling final : public StoredTraces {
   public:
    Cancelling(StoredTraces* store, QueryLimit* limit) : store_(*store), limit_(*limit) {}
    base::Result<std::vector<StoredTrace>> ProbeResults(const ReportFilter& filter, int64_t script_key,
                                                        int64_t most) override {
      auto results = store_.ProbeResults(filter, script_key, most);
      limit_.Cancel();
      return results;
    }
    base::Result<std::vector<TraceRow>> TracesOf(std::span<const base::Uuid> report_ids) override {
      return store_.TracesOf(report_ids);
    }
    base::Result<std::vector<TraceRow>> ListTraces(const ReportFilter& filter, int64_t most,
                                                   const std::optional<base::Uuid>& before) override {
      return store_.ListTraces(filter, most, before);
    }
    base::Result<std::optional<StoredTrace>> FindTrace(const base::Uuid& id) override {
      return store_.FindTrace(id);
    }

   private:
    StoredTraces& store_;
    QueryLimit& limit_;
  };
  Cancelling store(collector_.store.get(), &limit);
  const QueryLimit::Scope scope(&limit);
  const Response response = ProbeQueries(&store).Get(kScript, {});
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("disconnected"));
}

TEST_F(ProbeQueriesTest, HasNoAnswerAboutAScriptThatNoClientNames) {
  AddResults(1);
  // Its key would be that of all scripts.
  EXPECT_EQ(collector_.query_api.Get("/v1/probes/" + std::string(64, '0'), "").status, 404);
  // The key of another one's beginning.
  EXPECT_EQ(collector_.query_api.Get("/v1/probes/" + std::string(16, 'b') + std::string(48, '0'), "").status,
            404);
}

}  // namespace
}  // namespace lagwatch::collector
