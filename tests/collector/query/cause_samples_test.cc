// SPDX-License-Identifier: Apache-2.0
#include "collector/query/causes/cause_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::MemoryCollector;
using testing::SampleReport;

SampleReport SampledReport(std::vector<std::vector<std::string>> samples, int64_t wall_ms) {
  SampleReport report{.stack = {"Save", "OnSave", "main"}, .samples = std::move(samples)};
  report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
  return report;
}

// "innermost<…<outermost"
std::string StackText(const Json& answer, const Json& stack) {
  std::string text;
  for (const Json& frame : stack) {
    text += text.empty() ? "" : "<";
    text += answer["frames"][frame.get<size_t>()]["function"].get<std::string>();
  }
  return text;
}

// "stack ms" each.
std::vector<std::string> SampleTexts(const Json& answer) {
  std::vector<std::string> texts;
  for (const Json& sample : answer["samples"])
    texts.push_back(StackText(answer, answer["stacks"][sample["stack"].get<size_t>()]) + " " +
                    sample["ms"].dump());
  return texts;
}

class CauseSamplesTest : public ::testing::Test {
 protected:
  std::string PathOf(const std::string& innermost = "Save") {
    for (const Json& cause : collector_.Get("/v1/clusters")) {
      if (cause["frames"][0] == innermost)
        return "/v1/clusters/" + cause["key"].get<std::string>() + "/samples";
    }
    return "/v1/clusters/none/samples";
  }

  MemoryCollector collector_;
};

// Samples are 50 ms apart, the last 50 ms before the report.
TEST_F(CauseSamplesTest, TellWhereTheTimeOfAllReportsWent) {
  collector_.Submit({SampledReport({{"Write", "Save", "main"}, {"Sync", "Save", "main"}}, 2'000),
                     SampledReport({{"Sync", "Save", "main"}}, 1'000)});
  const Json answer = collector_.Get(PathOf());
  EXPECT_EQ(answer["reports"], 2);
  EXPECT_THAT(SampleTexts(answer),
              ElementsAre("Sync<Save<main 50.0", "Write<Save<main 50.0", "Sync<Save<main 50.0"));
  EXPECT_EQ(answer["stacks"].size(), 2u);
  ASSERT_EQ(answer["frames"].size(), 4u);
  EXPECT_EQ(answer["frames"][0], Json::parse(R"({"function": "Write", "module": "/usr/bin/editor",
                                                 "file": null, "line": null, "own": true})"));
  EXPECT_EQ(answer["packages"], Json::parse(R"([{"package": "editor", "ms": 150.0, "share": 1.0}])"));
  EXPECT_EQ(answer["tags"],
            Json::parse(R"([{"loop": "ui", "tag": "key", "reports": 2, "hang_ms": 4000.0}])"));
  EXPECT_EQ(answer["owners"], Json::array());
  EXPECT_THAT(SampleTexts(collector_.Get(PathOf(), "limit=1")),
              ElementsAre("Write<Save<main 50.0", "Sync<Save<main 50.0"));
  EXPECT_EQ(collector_.Get(PathOf(), "limit=1")["reports"], 1);
}

TEST_F(CauseSamplesTest, AreThoseOfMergedClustersToo) {
  SampleReport other = SampledReport({{"Load", "main"}}, 1'000);
  other.stack = {"Load", "OnLoad"};
  collector_.Submit({SampledReport({{"Save", "main"}}, 2'000), other});
  const std::string load = PathOf("Load"), save = PathOf();
  auto key_of = [](const std::string& path) { return path.substr(13, 16); };
  ASSERT_TRUE(
      AnnotatedCauses(collector_.store.get()).Put({.key = key_of(load), .merged_into = key_of(save)}).ok());
  EXPECT_THAT(SampleTexts(collector_.Get(save)), ElementsAre("Load<main 50.0", "Save<main 50.0"));
  EXPECT_EQ(collector_.Get(load), collector_.Get(save));
}

TEST_F(CauseSamplesTest, AreOfReportsThatMatch) {
  SampleReport other = SampledReport({{"Other", "main"}}, 2'000);
  other.header.app_version = "9";
  SampleReport dump = SampledReport({{"Dump", "main"}}, 3'000);
  dump.header.kind = report::HangKind::kDump;
  collector_.Submit({SampledReport({{"Save", "main"}}, 1'000), other, dump});
  EXPECT_THAT(SampleTexts(collector_.Get(PathOf())), ElementsAre("Save<main 50.0", "Other<main 50.0"));
  EXPECT_THAT(SampleTexts(collector_.Get(PathOf(), "version=9")), ElementsAre("Other<main 50.0"));
  EXPECT_EQ(collector_.query_api.Get(PathOf(), "version=8").status, 404);
  EXPECT_EQ(collector_.query_api.Get("/v1/clusters/none/samples", "").status, 404);
  EXPECT_EQ(collector_.query_api.Get(PathOf(), "limit=1001").status, 400);
}

TEST_F(CauseSamplesTest, CountTheTimeOfAHangOnce) {
  SampleReport first = SampledReport({{"One"}, {"Two"}}, 1'000);
  first.header.elapsed_ns = 1'000'000'000;
  // 70 ms later: of its samples, one was taken before the first report.
  SampleReport second = SampledReport({{"Two"}, {"Three"}}, 1'070);
  second.header.hang_id = first.header.id;
  second.header.ordinal = 1;
  second.header.elapsed_ns = 1'070'000'000;
  collector_.Submit({first, second});
  EXPECT_THAT(SampleTexts(collector_.Get(PathOf())), ElementsAre("One 50.0", "Two 50.0", "Three 50.0"));
}

TEST_F(CauseSamplesTest, TellWhatWasDoneMost) {
  std::vector<SampleReport> reports;
  for (int i = 0; i < 30; ++i) {
    reports.push_back(SampledReport({{"Save"}}, 1'000 + i));
    reports.back().header.elapsed_ns = (i + 1) * 1'000'000;
    static const std::string kTags[] = {"paste", "key", "click"};
    reports.back().header.tag = kTags[i % 3];
    reports.back().header.loop = i < 3 ? "io" : "ui";
  }
  collector_.Submit(reports);
  const Json tags = collector_.Get(PathOf())["tags"];
  ASSERT_EQ(tags.size(), 6u);
  EXPECT_EQ(tags[0], Json::parse(R"({"loop": "ui", "tag": "click", "reports": 9, "hang_ms": 162.0})"));
  EXPECT_EQ(tags[5], Json::parse(R"({"loop": "io", "tag": "paste", "reports": 1, "hang_ms": 1.0})"));
}

report::Report Decoded(const SampleReport& report) { return report::DecodeReport(report.Encode()).value(); }

// Without asking a store.
Json Together(const std::vector<std::pair<ReportRow, report::Report>>& reports,
              Symbolizer* symbolizer = nullptr) {
  std::vector<ReportRow> rows;
  for (const auto& [row, report] : reports) rows.push_back(row);
  const policies::ClusterRules rules = Clusterer::Create("")->rules();
  CauseSamples samples(rows, rules, symbolizer);
  for (const auto& [row, report] : reports) {
    if (!samples.TryAdd(row, report)) break;
  }
  return samples.ToJson();
}

testing::SampleWait WaitFor(uint32_t tid, int32_t owner_tid, const char* owner,
                            std::vector<std::string> owner_stack) {
  return {.fields = {.tid = tid,
                     .lock = {.address = 0x7f10,
                              .kind = report::LockKind::kMutex,
                              .waits_for = report::WaitsFor::kOwner,
                              .owner_tid = owner_tid},
                     .owner_name = owner},
          .stack = {"pthread_mutex_lock", "Lookup"},
          .owner_stack = std::move(owner_stack)};
}

TEST(CauseSamples, TellWhoHeldTheLocks) {
  std::vector<SampleReport> reports(4, SampledReport({{"Save"}}, 1));
  // The first waits for one that waits for another, which waits for a signal; the second for that one itself.
  reports[0].waits = {WaitFor(1, 2, "loader", {"Wait", "Load"}),
                      WaitFor(2, 3, "indexer", {"nanosleep", "Rebuild"}),
                      {.fields = {.tid = 3, .lock = {.waits_for = report::WaitsFor::kSignal}}}};
  reports[1].waits = {WaitFor(1, 3, "indexer-2", {"nanosleep", "Rebuild"})};
  reports[2].waits = {WaitFor(1, 2, "loader", {})};
  reports[3].waits = {WaitFor(1, 2, "one", {"One"}), WaitFor(2, 1, "other", {"Other"})};
  std::vector<std::pair<ReportRow, report::Report>> added;
  for (SampleReport& report : reports) {
    report.wait_outcome = report::WaitOutcome::kLock;
    if (&report == &reports[3]) report.wait_outcome = report::WaitOutcome::kDeadlock;
    added.emplace_back(ReportRow(), Decoded(report));
    added.back().first.hang_ns = static_cast<int64_t>(100'000'000'000 >> added.size());
  }
  Json answer = Together(added);
  for (Json& owner : answer["owners"]) owner["stack"] = StackText(answer, owner["stack"]);
  EXPECT_EQ(answer["owners"], Json::parse(R"([
      {"at": "Rebuild", "name": "indexer", "kind": "mutex", "reports": 2, "hang_ms": 75000.0,
       "stack": "nanosleep<Rebuild"},
      {"at": null, "name": "loader", "kind": "mutex", "reports": 1, "hang_ms": 12500.0, "stack": ""},
      {"at": "One", "name": "one", "kind": "mutex", "reports": 1, "hang_ms": 6250.0, "stack": "One"}])"))
      << answer["owners"].dump();
}

TEST(CauseSamples, AreTheExpensiveStackWhereThereAreNone) {
  ReportRow row;
  row.hang_ns = 1'500'000'000;
  report::Report none = Decoded(SampledReport({{"Save"}}, 1));
  none.samples.clear();
  report::Report at_once = Decoded(SampledReport({{"Save"}}, 1));  // as those of Sentry's SDKs
  at_once.samples[0].age_ns = 0;
  EXPECT_THAT(SampleTexts(Together({{row, none}})), ElementsAre("Save<OnSave<main 1500.0"));
  EXPECT_THAT(SampleTexts(Together({{row, at_once}})), ElementsAre("Save<OnSave<main 1500.0"));
}

TEST(CauseSamples, OfCpuUseAreTheTimeThatWasUsed) {
  SampleReport cpu = SampledReport({{"Hash"}, {"Copy"}}, 1);
  cpu.header.kind = report::HangKind::kCpuAverage;
  cpu.sample_cpu_ns = {600'000'000, 200'000'000};
  EXPECT_THAT(SampleTexts(Together({{ReportRow(), Decoded(cpu)}})), ElementsAre("Hash 600.0", "Copy 200.0"));
}

TEST(CauseSamples, AreInTheOrderOfTime) {
  report::Report report = Decoded(SampledReport({{"A"}, {"B"}, {"C"}}, 1));
  std::swap(report.samples[0], report.samples[2]);
  report.samples[1].age_ns = INT64_MAX;  // a hostile client's
  ReportRow row;
  row.elapsed_ns = 2'000'000'000;
  const Json answer = Together({{row, report}});
  ASSERT_EQ(answer["samples"].size(), 3u);
  EXPECT_EQ(SampleTexts(answer)[1], "A 100.0");
  EXPECT_EQ(SampleTexts(answer)[2], "C 50.0");
}

TEST(CauseSamples, AreNotMoreThanAnybodyLooksAt) {
  std::vector<std::vector<std::string>> stacks(1500, {"Save"});
  std::vector<std::pair<ReportRow, report::Report>> reports(30,
                                                            {ReportRow(), Decoded(SampledReport(stacks, 1))});
  const Json answer = Together(reports);
  EXPECT_EQ(answer["reports"], 13);
  EXPECT_EQ(answer["samples"].size(), 19'500u);
  const Json one = Together({{ReportRow(), Decoded(SampledReport({25'000, {"Save"}}, 1))}});
  EXPECT_EQ(one["samples"].size(), CauseSamples::kMaxSamples);
}

class InliningSymbolizer final : public Symbolizer {
 public:
  base::Result<SymbolizedFrames> Symbolize(std::string_view, std::span<const CodePlace> places) override {
    const std::vector<NamedFrame> frames = {{"Inlined", "a.cc", 7, true}, {"Outer", "b.cc", 9, false}};
    return SymbolizedFrames(places.size(), frames);
  }
  void OnNewFile(std::function<void(std::string_view build_id)>) override {}
};

TEST(CauseSamples, HaveTheFilesAndLinesOfSymbols) {
  InliningSymbolizer symbolizer;
  const Json answer = Together({{ReportRow(), Decoded(SampledReport({{"Save"}}, 1))}}, &symbolizer);
  EXPECT_EQ(answer["stacks"], Json::parse("[[0, 1]]"));
  EXPECT_EQ(answer["frames"], Json::parse(R"([
      {"function": "Inlined", "module": "/usr/bin/editor", "file": "a.cc", "line": 7, "own": true},
      {"function": "Outer", "module": "/usr/bin/editor", "file": "b.cc", "line": 9, "own": true}])"));
}

}  // namespace
}  // namespace lagwatch::collector
