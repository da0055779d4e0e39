// SPDX-License-Identifier: Apache-2.0
#include "collector/query/trace_queries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/memory_collector.h"
#include "tests/collector/sample_traces.h"
#include "trace/export/export.h"

namespace lagwatch::collector {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::SizeIs;

// Knows one place of every module.
class OnePlace final : public Symbolizer {
 public:
  base::Result<SymbolizedFrames> Symbolize(std::string_view build_id,
                                           std::span<const CodePlace> places) override {
    EXPECT_EQ(build_id, "\x01\xab");
    SymbolizedFrames frames(places.size());
    frames[0] = {{.function = "_ZN5Inner3RunEv", .file = "inner.h", .line = 3, .is_inlined = true},
                 {.function = "_ZN6Editor4SaveEv", .file = "editor.cc", .line = 17}};
    return frames;
  }
  void OnNewFile(std::function<void(std::string_view)>) override {}
};

class TraceQueriesTest : public ::testing::Test {
 protected:
  TraceQueriesTest() {
    std::string batch = testing::EncodeBatch({report_.Encode(), SampleReport().Encode()});
    testing::AppendTrace(trace_, &batch);
    EXPECT_EQ(collector_.ingest.Submit(batch)->accepted, 3);
  }

  std::string Path(const char* more = "") const { return "/v1/traces/" + base::ToString(trace_.id) + more; }

  MemoryCollector collector_;
  OnePlace symbols_;
  QueryApi api_{collector_.store.get(), Clusterer::Create("")->rules(), &symbols_};
  SampleReport report_;
  report::TraceRecord trace_ = testing::TraceOf(report_.header.id);
};

TEST_F(TraceQueriesTest, AReportTellsItsTraces) {
  const Json report = collector_.Get("/v1/reports/" + base::ToString(report_.header.id));
  ASSERT_THAT(report["traces"], SizeIs(1));
  const Json& trace = report["traces"][0];
  EXPECT_EQ(trace["id"], base::ToString(trace_.id));
  EXPECT_EQ(trace["reason"], "lag");
  EXPECT_EQ(trace["duration_ms"], 40);
  EXPECT_EQ(trace["size_bytes"], trace_.trace.size());
  int64_t traces = 0;
  for (const Json& listed : collector_.Get("/v1/reports")) traces += listed["trace_count"].get<int64_t>();
  EXPECT_EQ(traces, 1);
}

TEST_F(TraceQueriesTest, AListHasTracesWithoutReportsToo) {
  const report::TraceRecord alone = testing::TraceOf({});
  std::string batch;
  testing::AppendTrace(alone, &batch);
  ASSERT_EQ(collector_.ingest.Submit(batch)->accepted, 1);
  const Json all = collector_.Get("/v1/traces");
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_GT(all[0]["id"], all[1]["id"]);
  const Json& without = all[0]["report_id"].is_null() ? all[0] : all[1];
  EXPECT_EQ(without["id"], base::ToString(alone.id));
  EXPECT_TRUE(without["report_id"].is_null());
  const Json page = collector_.Get("/v1/traces", "limit=1");
  ASSERT_THAT(page, SizeIs(1));
  EXPECT_EQ(page[0], all[0]);
  EXPECT_EQ(collector_.Get("/v1/traces", "before=" + all[0]["id"].get<std::string>()), Json::array({all[1]}));
  EXPECT_THAT(collector_.Get("/v1/traces", "app=another"), IsEmpty());
  EXPECT_THAT(collector_.Get("/v1/traces", "user=nobody"), IsEmpty());
  EXPECT_EQ(api_.Get("/v1/traces", "before=yesterday").status, 400);
}

TEST_F(TraceQueriesTest, ATraceCanBeHadInEachFormatAsAFile) {
  for (const trace::FormatInfo& format : trace::Formats()) {
    const Response file = api_.Get(Path(), "format=" + std::string(format.name));
    EXPECT_EQ(file.status, 200) << file.body;
    EXPECT_FALSE(file.body.empty());
    EXPECT_EQ(file.content_disposition, "attachment; filename=\"lagwatch-" + base::ToString(trace_.id) +
                                            std::string(format.suffix) + "\"");
  }
  EXPECT_EQ(api_.Get(Path(), "").body, api_.Get(Path(), "format=perfetto").body);
  EXPECT_THAT(api_.Get(Path(), "format=collapsed").body, HasSubstr("main;main;Handle;Load 20000000\n"));
  EXPECT_EQ(Json::parse(api_.Get(Path(), "format=speedscope").body)["$schema"],
            "https://www.speedscope.app/file-format-schema.json");
  const Response own = api_.Get(Path(), "format=lwtrace");
  EXPECT_THAT(own.content_disposition, HasSubstr(".lwtrace\""));
  const auto unpacked = trace::UnpackTrace(own.body);
  ASSERT_TRUE(unpacked.ok());
  EXPECT_EQ(unpacked->threads.size(), 2u);
}

TEST_F(TraceQueriesTest, PlacesGetTheNamesOfSymbolFiles) {
  EXPECT_THAT(api_.Get(Path(), "format=collapsed").body, HasSubstr("main;main;Editor::Save "));
  EXPECT_THAT(collector_.query_api.Get(Path(), "format=collapsed").body, HasSubstr("main;main;editor+0x"));
  const auto trace = trace::UnpackTrace(api_.Get(Path(), "format=lwtrace").body);
  EXPECT_EQ(trace->frames.back().file, "editor.cc");
  EXPECT_EQ(trace->frames.back().line, 17u);
}

TEST_F(TraceQueriesTest, OneThreadCanBeHadAlone) {
  const std::string worker = api_.Get(Path(), "format=collapsed&tid=101").body;
  EXPECT_THAT(worker, HasSubstr("worker;Pool;pthread_mutex_lock 25000000\n"));
  EXPECT_EQ(worker.find("Handle"), worker.npos);
}

TEST_F(TraceQueriesTest, TellsAFlameGraphOfAThread) {
  const Json flame = Json::parse(api_.Get(Path("/flame"), "").body);
  EXPECT_EQ(flame["tid"], 100);  // the main one
  EXPECT_EQ(flame["reason"], "lag");
  ASSERT_THAT(flame["threads"], SizeIs(2));
  EXPECT_EQ(flame["threads"][0]["is_main"], true);
  EXPECT_EQ(flame["threads"][1]["name"], "worker");
  EXPECT_EQ(flame["threads"][1]["known_ms"], 25);
  ASSERT_THAT(flame["stacks"], SizeIs(3));
  const Json& longest = flame["stacks"][0];
  EXPECT_EQ(longest["ms"], 20);
  EXPECT_EQ(flame["frames"][longest["frames"][0].get<size_t>()]["function"], "Load");
  EXPECT_EQ(flame["frames"][longest["frames"][2].get<size_t>()]["function"], "main");
  EXPECT_THAT(flame["losses"], IsEmpty());

  const Json worker = Json::parse(api_.Get(Path("/flame"), "tid=101").body);
  EXPECT_EQ(worker["tid"], 101);
  EXPECT_THAT(worker["stacks"], SizeIs(1));
}

TEST_F(TraceQueriesTest, AReportsSamplesCanBeHadInEachFormatAsAFile) {
  SampleReport report;
  report.samples = {
      {"Load", "Handle", "main"}, {"Load", "Handle", "main"}, {"Handle", "main"}, {"a;b", "main"}};
  ASSERT_EQ(collector_.ingest.Submit(testing::EncodeBatch({report.Encode()}))->accepted, 1);
  const std::string id = base::ToString(report.header.id);
  const auto get = [&](const std::string& format) {
    return collector_.query_api.Get("/v1/reports/" + id, "format=" + format);
  };
  for (const trace::FormatInfo& format : trace::Formats()) {
    const Response file = get(std::string(format.name));
    EXPECT_EQ(file.status, 200) << file.body;
    EXPECT_EQ(file.content_disposition,
              "attachment; filename=\"lagwatch-" + id + std::string(format.suffix) + "\"");
  }
  // 50 ms a sample.
  EXPECT_EQ(get("collapsed").body,
            "main;main;Handle 50000000\nmain;main;Handle;Load 100000000\nmain;main;a,b 50000000\n");
  const Json speedscope = Json::parse(get("speedscope").body);
  EXPECT_EQ(speedscope["name"], "editor 2.3.1");
  const Json& in_order = speedscope["profiles"][0];
  EXPECT_THAT(in_order["events"], SizeIs(8));  // neighbours share their calls
  EXPECT_EQ(in_order["endValue"], 200'000'000);
  EXPECT_EQ(Json::parse(get("json").body), collector_.Get("/v1/reports/" + id));
  EXPECT_EQ(get("csv").status, 400);
  EXPECT_THAT(get("elf").body, HasSubstr("lwtrace, perfetto, speedscope"));
}

TEST_F(TraceQueriesTest, AReportsFileHasTheTimesOfItsKind) {
  SampleReport slow;
  slow.header.kind = report::HangKind::kSlow;
  slow.samples = {{"main"}, {"Load", "main"}};
  slow.sample_costs = {{.wall_ns = 1'000}, {.wall_ns = 2'000}};
  SampleReport cpu;
  cpu.header.kind = report::HangKind::kCpuAverage;
  cpu.samples = {{"Load", "main"}, {"main"}};
  cpu.sample_cpu_ns = {5'000, 0};
  SampleReport untimed;
  untimed.header.kind = report::HangKind::kCpu;
  untimed.header.elapsed_ns = 7'000'000;
  const std::string batch = testing::EncodeBatch({slow.Encode(), cpu.Encode(), untimed.Encode()});
  ASSERT_EQ(collector_.ingest.Submit(batch)->accepted, 3);
  const auto collapsed = [&](const SampleReport& report) {
    const std::string path = "/v1/reports/" + base::ToString(report.header.id);
    return collector_.query_api.Get(path, "format=collapsed").body;
  };
  EXPECT_THAT(collapsed(slow), AllOf(HasSubstr(";main 1000\n"), HasSubstr(";main;Load 2000\n")));
  EXPECT_THAT(collapsed(cpu), EndsWith(";main;Load 5000\n"));
  EXPECT_THAT(collapsed(untimed), EndsWith(";main;Loop;Caller;Leaf 7000000\n"));
}

TEST_F(TraceQueriesTest, SaysWhatIsNotThere) {
  EXPECT_EQ(api_.Get(Path(), "format=elf").status, 400);
  EXPECT_THAT(api_.Get(Path(), "format=elf").body, HasSubstr("lwtrace, perfetto, speedscope"));
  EXPECT_EQ(api_.Get(Path(), "tid=7").status, 404);
  EXPECT_EQ(api_.Get(Path("/flame"), "tid=7").status, 404);
  EXPECT_EQ(api_.Get("/v1/traces/" + base::ToString(report_.header.id), "").status, 404);
  EXPECT_EQ(api_.Get("/v1/traces/none", "").status, 400);
}

}  // namespace
}  // namespace lagwatch::collector
