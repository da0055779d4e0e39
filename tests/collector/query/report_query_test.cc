// SPDX-License-Identifier: Apache-2.0
// Tests of the API's reports: single ones, and lists of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/query/query_api.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using testing::EncodeEnd;
using testing::KeysOf;
using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::SizeIs;

TEST(QueryApi, ShowsAWholeReport) {
  MemoryCollector collector;
  SampleReport report{.samples = {{"Leaf", "main"}, {"Leaf", "main"}}, .threads = {{"worker", {"Work"}}}};
  collector.Submit({report}, {EncodeEnd(report.header.id, 4'100'000'000)});
  Json shown = collector.Get("/v1/reports/" + base::ToString(report.header.id));
  EXPECT_EQ(shown["duration_ms"], 4100);
  EXPECT_EQ(shown["ended"], true);
  EXPECT_EQ(shown["kind"], "lag");
  EXPECT_EQ(shown["elapsed_ms"], 2000);
  EXPECT_EQ(shown["cpu"], Json::parse(R"({"window_ms": 1000, "thread_ms": 950, "process_ms": 990})"));
  ASSERT_THAT(shown["expensive_stack"], SizeIs(4));
  EXPECT_EQ(
      shown["expensive_stack"][0],
      Json::parse(
          R"({"module": "/usr/bin/editor", "build_id": "01abff", "offset": "0x1010", "function": "Leaf", "own": true})"));
  EXPECT_EQ(shown["expensive_completeness"], "complete");
  ASSERT_THAT(shown["samples"], SizeIs(2));
  EXPECT_EQ(shown["samples"][0]["age_ms"], 100);
  ASSERT_THAT(shown["threads"], SizeIs(2));
  EXPECT_EQ(shown["threads"][1]["name"], "worker");
  EXPECT_TRUE(shown["threads"][0]["syscall"].is_null());
  EXPECT_EQ(shown["threads"][0]["wait_channel"], "");
  EXPECT_EQ(shown["threads"][1]["syscall"], 74);
  EXPECT_EQ(shown["threads"][1]["wait_channel"], "folio_wait_bit_common");
  EXPECT_EQ(shown["threads"][1]["stack"][0]["function"], "Work");
  EXPECT_EQ(shown["packages"], Json::parse(R"([{"package": "editor", "ms": 100.0, "share": 1.0}])"));
}

TEST(ReportQuery, StacksAreNumbersInATableIfThatIsAskedFor) {
  MemoryCollector collector;
  SampleReport report{.samples = {{"Leaf", "main"}, {"Leaf", "Other", "main"}},
                      .threads = {{"worker", {"Work", "main"}}}};
  collector.Submit({report});
  const std::string path = "/v1/reports/" + base::ToString(report.header.id);
  const Json whole = collector.Get(path);
  Json tabled = collector.Get(path, "stacks=table");
  EXPECT_EQ(tabled["frames"].size(), 6u) << "each frame once";
  for (const char* list : {"samples", "threads"}) {
    for (Json& entry : tabled[list]) {
      Json stack = Json::array();
      for (const Json& number : entry["stack"]) stack.push_back(tabled["frames"][number.get<size_t>()]);
      entry["stack"] = std::move(stack);
    }
  }
  tabled.erase("frames");
  EXPECT_EQ(tabled, whole);
  EXPECT_EQ(collector.query_api.Get(path, "stacks=tree").status, 400);
}

TEST(ReportQuery, TheTimeIsThatOfPlugInsAndOfTheProgram) {
  MemoryCollector collector;
  SampleReport report{
      .stack = {"std::find", "Blur", "main"},
      .samples = {{"std::find", "Blur", "main"}, {"malloc", "Blur", "main"}, {"std::find", "main"}}};
  report.module_path = "/opt/editor/plugins/libblur.so";
  collector.Submit({report});
  const Json shown = collector.Get("/v1/reports/" + base::ToString(report.header.id));
  ASSERT_EQ(shown["packages"].size(), 1u) << shown["packages"];
  EXPECT_EQ(shown["packages"][0]["package"], "libblur.so");
  EXPECT_EQ(shown["expensive_stack"][0]["own"], false);
  EXPECT_EQ(shown["expensive_stack"][1]["own"], true);
  EXPECT_EQ(shown["expensive_stack"][2]["own"], false) << "main is what calls the program";
}

TEST(QueryApi, ShowsWhoWaitsForWhom) {
  MemoryCollector collector;
  SampleReport report{
      .threads = {{"indexer", {"Rebuild"}}},
      .waits = {{.fields = {.tid = 4712,
                            .lock = {.address = 0x7f10,
                                     .kind = report::LockKind::kRwLock,
                                     .waits_for = report::WaitsFor::kOwner,
                                     .has_timeout = true,
                                     .owner_tid = 4713},
                            .owner_name = "indexer"},
                 .stack = {"__futex_abstimed_wait64", "pthread_rwlock_wrlock", "Lookup", "OnKey"},
                 .owner_stack = {"nanosleep", "Rebuild"}},
                {.fields = {.tid = 4713, .lock = {.waits_for = report::WaitsFor::kSignal}}}},
      .wait_outcome = report::WaitOutcome::kLock};
  collector.Submit({report});
  Json shown = collector.Get("/v1/reports/" + base::ToString(report.header.id));
  EXPECT_EQ(shown["deadlock"], false);
  ASSERT_THAT(shown["waits"], SizeIs(2));
  const Json& wait = shown["waits"][0];
  EXPECT_THAT(KeysOf(wait),
              ElementsAre("tid", "name", "at", "stack", "lock", "kind", "for", "has_timeout", "owner"));
  EXPECT_EQ(wait["name"], "main");
  EXPECT_EQ(wait["at"], "Lookup");
  EXPECT_EQ(wait["lock"], "0x7f10");
  EXPECT_EQ(wait["kind"], "rwlock");
  EXPECT_EQ(wait["for"], "owner");
  EXPECT_EQ(wait["has_timeout"], true);
  EXPECT_EQ(wait["owner"]["tid"], 4713);
  EXPECT_EQ(wait["owner"]["name"], "indexer");
  EXPECT_EQ(wait["owner"]["at"], "Rebuild");
  EXPECT_THAT(wait["owner"]["stack"], SizeIs(2));
  const Json& last = shown["waits"][1];
  EXPECT_EQ(last["name"], "indexer");
  EXPECT_TRUE(last["at"].is_null());
  EXPECT_EQ(last["kind"], "unknown");
  EXPECT_EQ(last["for"], "signal");
  EXPECT_TRUE(last["owner"].is_null());
}

TEST(QueryApi, LeadsToTheReportsOfAnAwaitedProcessThatIsWatchedItself) {
  MemoryCollector collector;
  const auto at = [](SampleReport* report, int64_t begin_ms, int64_t lasts_ms) {
    report->header.id = report->header.hang_id = base::CreateUuidV7(begin_ms + 500);
    report->header.start_wall_ms = begin_ms;
    report->header.elapsed_ns = lasts_ms * 1'000'000;
  };
  constexpr int64_t kBeginMs = 1'700'000'100'000;
  SampleReport client, earlier, frozen, meanwhile, again;
  at(&client, kBeginMs, 2000);
  at(&earlier, kBeginMs - 5000, 2000);
  at(&frozen, kBeginMs - 1'800'000, 1000);  // has no end
  at(&meanwhile, kBeginMs - 1000, 2500);
  at(&again, kBeginMs + 1000, 2500);
  again.header.hang_id = meanwhile.header.id;
  for (SampleReport* one : {&earlier, &frozen, &meanwhile, &again}) {
    one->header.session_id = base::CreateUuidV7(kBeginMs - 10'000);
    one->header.app = "service";
    one->header.loop = "bus";
  }
  for (SampleReport* one : {&earlier, &frozen, &again}) one->header.session_id = meanwhile.header.session_id;
  client.waits = {{.fields = {.tid = 4712,
                              .lock = {.kind = report::LockKind::kBusCall,
                                       .waits_for = report::WaitsFor::kOwner,
                                       .owner_tid = 77},
                              .owner_pid = 77,
                              .owner_process = "service",
                              .owner_state = 'S',
                              .owner_session_id = meanwhile.header.session_id}}};
  const auto owner = [&] {
    return collector.Get("/v1/reports/" + base::ToString(client.header.id))["waits"][0]["owner"];
  };
  collector.Submit({client});
  EXPECT_EQ(owner()["session_id"], base::ToString(meanwhile.header.session_id));
  EXPECT_EQ(owner()["reports"], Json::array());
  collector.Submit({frozen, earlier, meanwhile, again}, {EncodeEnd(earlier.header.id, 2'000'000'000)});
  const Json reports = owner()["reports"];
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0]["id"], base::ToString(frozen.header.id));
  EXPECT_EQ(reports[1]["id"], base::ToString(meanwhile.header.id));
  EXPECT_EQ(reports[1]["app"], "service");
  EXPECT_EQ(reports[1]["loop"], "bus");
  EXPECT_EQ(reports[1]["duration_ms"], 2500);
}

TEST(QueryApi, AThreadThatWaitsInALoopOfItsOwnIsAtItsCaller) {
  MemoryCollector collector;
  const std::vector<std::string> loop = {"g_main_context_dispatch", "g_main_loop_run", "main"};
  const auto place_of = [&](std::vector<std::string> stack) {
    SampleReport report;
    report.header.id = report.header.hang_id = base::CreateUuidV7(1'700'000'100'000);
    stack.insert(stack.end(), loop.begin(), loop.end());
    report.waits = {{.fields = {.tid = 4712, .lock = {.kind = report::LockKind::kBusCall}}, .stack = stack}};
    collector.Submit({report});
    return collector.Get("/v1/reports/" + base::ToString(report.header.id))["waits"][0]["at"];
  };
  EXPECT_EQ(place_of({"poll", "g_main_loop_run", "ask", "load_contacts"}), "ask");
  EXPECT_EQ(place_of({"poll", "ask", "load_contacts"}), "ask");
  EXPECT_EQ(place_of({"poll"}), "g_main_context_dispatch");
}

// Counts the members of `json` with a deprecated name, each of which has the value of the one that replaces
// it.
size_t CheckOldNames(const Json& json) {
  size_t count = 0;
  for (const Json& member : json)
    if (member.is_structured()) count += CheckOldNames(member);
  if (!json.is_object()) return count;
  for (const auto& [name, old] :
       {std::pair("hangs", "lags"), std::pair("hang_id", "lag_id"), std::pair("hang_ms", "lagged_ms"),
        std::pair("hang_ms_per_hour", "lagged_ms_per_hour")}) {
    if (!json.contains(old)) continue;
    EXPECT_TRUE(json.contains(name)) << old;
    EXPECT_EQ(json.value(name, Json()), json[old]) << old;
    ++count;
  }
  return count;
}

TEST(QueryApi, OldNamesAreBesideTheNewOnes) {
  MemoryCollector collector;
  collector.Submit({SampleReport()});
  const policies::LoopUsage ui{.watched_ns = 3'600'000'000'000, .hangs = 1, .hang_ns = 2'000'000'000};
  const report::Usage usage{.id = base::CreateUuidV7(3),
                            .session_id = base::CreateUuidV7(4),
                            .app = "editor",
                            .app_version = "1.0",
                            .user = "u-1",
                            .loops = {{"ui", ui}}};
  std::string batch;
  report::AppendToBatch({report::RecordType::kUsage, testing::EncodeUsage(usage)}, &batch);
  collector.ingest.Submit(batch).value();
  const std::string key = collector.Get("/v1/clusters")[0]["key"];
  EXPECT_GE(CheckOldNames(collector.Get("/v1/clusters")), 2u);
  EXPECT_GE(CheckOldNames(collector.Get("/v1/clusters/" + key, "trend=hour&by=version")), 5u);
  EXPECT_EQ(CheckOldNames(collector.Get("/v1/usage")), 14u);
  EXPECT_EQ(CheckOldNames(collector.Get("/v1/usage", "by=day")), 3u);
  EXPECT_EQ(CheckOldNames(collector.Get("/v1/reports")), 1u);
}

TEST(QueryApi, ShowsTheCircumstances) {
  MemoryCollector collector;
  SampleReport report;
  report.header.level = report::HangLevel::kAnr;
  report.header.kind = report::HangKind::kBusyLoop;
  report.header.distribution = "Debian GNU/Linux 12";
  report.verdict = {.word = policies::VerdictWord::kDisk,
                    .shares = {.wall_ns = 2'000'000'000, .disk_ns = 1'900'000'000}};
  report.verdict.use.cpu_ns = 5'000'000;
  report.verdict.use.major_faults = 3;
  report.discounted.suspended_ns = 7'000'000;
  report.history = {{.tag = "paint", .age_ns = 9'000'000, .wall_ns = 1'000'000}};
  collector.Submit({report});
  Json shown = collector.Get("/v1/reports/" + base::ToString(report.header.id));
  EXPECT_EQ(shown["kind"], "busy-loop");
  EXPECT_EQ(shown["distribution"], "Debian GNU/Linux 12");
  EXPECT_EQ(shown["level"], "anr");
  EXPECT_EQ(shown["verdict"]["word"], "disk");
  EXPECT_EQ(shown["verdict"]["disk_ms"], 1900);
  EXPECT_EQ(shown["verdict"]["use"]["cpu_ms"], 5);
  EXPECT_EQ(shown["verdict"]["use"]["major_faults"], 3);
  EXPECT_EQ(shown["guard"]["suspended_ms"], 7);
  EXPECT_EQ(shown["history"][0], Json::parse(R"({"tag": "paint", "age_ms": 9, "wall_ms": 1, "cpu_ms": 0,
                                                 "queue_wait_ms": 0})"));
  EXPECT_EQ(shown["facts"], Json::parse(R"({"fds": 12, "scene": "inbox"})"));
}

TEST(QueryApi, MergesTheStacksOfAverageCpuUseFromTheInside) {
  MemoryCollector collector;
  SampleReport report;
  report.header.kind = report::HangKind::kCpuAverage;
  report.samples = {{"Hash", "Scan", "main"}, {"Hash", "Check", "main"}, {"Copy", "Scan"}, {"Rare"}};
  report.sample_cpu_ns = {600'000'000, 200'000'000, 199'000'000, 1'000'000};
  collector.Submit({report});
  const std::string path = "/v1/reports/" + base::ToString(report.header.id);
  Json shown = collector.Get(path);
  EXPECT_EQ(shown["kind"], "cpu-average");
  EXPECT_EQ(shown["power_tree"], Json::parse(R"([
      {"function": "Hash", "cpu_ms": 800, "percent": 80, "callers": [
        {"function": "Scan", "cpu_ms": 600, "percent": 60, "callers": [
          {"function": "main", "cpu_ms": 600, "percent": 60, "callers": []}]},
        {"function": "Check", "cpu_ms": 200, "percent": 20, "callers": [
          {"function": "main", "cpu_ms": 200, "percent": 20, "callers": []}]}]},
      {"function": "Copy", "cpu_ms": 199, "percent": 19.9, "callers": [
        {"function": "Scan", "cpu_ms": 199, "percent": 19.9, "callers": []}]}])"))
      << shown["power_tree"].dump();
}

TEST(QueryApi, ASlowDispatchHasATreeOfItsCallsAndIsNoHang) {
  MemoryCollector collector;
  SampleReport hang;
  SampleReport slow;
  slow.header.id = slow.header.hang_id = base::CreateUuidV7(1'700'000'000'001);
  slow.header.kind = report::HangKind::kSlow;
  slow.header.elapsed_ns = 1'000'000'000;
  slow.stack = {"Parse", "Load", "OnOpen"};
  slow.samples = {{"OnOpen"}, {"Load", "OnOpen"}, {"Parse", "Load", "OnOpen"}, {"Paint", "OnOpen"}};
  slow.sample_costs = {{.wall_ns = 10'000'000, .calls = 1},
                       {.wall_ns = 90'000'000, .calls = 1},
                       {.wall_ns = 700'000'000, .calls = 12},
                       {.wall_ns = 200'000'000}};
  SampleReport same = slow;
  same.header.id = same.header.hang_id = base::CreateUuidV7(1'700'000'000'002);
  collector.Submit({hang, slow, same});
  const Json shown = collector.Get("/v1/reports/" + base::ToString(slow.header.id));
  EXPECT_EQ(shown["kind"], "slow");
  EXPECT_EQ(shown["samples"][2]["wall_ms"], 700);
  EXPECT_EQ(shown["samples"][2]["calls"], 12);
  EXPECT_EQ(shown["call_tree"], Json::parse(R"([
      {"function": "OnOpen", "wall_ms": 1000, "percent": 100, "calls": 1, "callees": [
        {"function": "Load", "wall_ms": 790, "percent": 79, "calls": 1, "callees": [
          {"function": "Parse", "wall_ms": 700, "percent": 70, "calls": 12, "callees": []}]},
        {"function": "Paint", "wall_ms": 200, "percent": 20, "calls": 0, "callees": []}]}])"))
      << shown["call_tree"].dump();
  const Json clusters = collector.Get("/v1/clusters");
  ASSERT_EQ(clusters.size(), 2u);
  EXPECT_EQ(clusters[1]["frames"], Json({"Parse", "Load"}));
  EXPECT_EQ(clusters[1]["reports"], 2);
  EXPECT_EQ(clusters[1]["hangs"], 0);
  EXPECT_EQ(clusters[1]["hang_ms"], 0);
  EXPECT_EQ(collector.Get("/v1/reports", "kind=slow").size(), 2u);
  EXPECT_EQ(collector.Get("/v1/clusters", "kind=slow").size(), 1u);
  EXPECT_EQ(collector.Get("/v1/clusters", "kind=lag").size(), 1u);
}

TEST(QueryApi, AHangCountsAtTheReportThatItsEndBlames) {
  constexpr int64_t kEndNs = 3'000'000'000;
  SampleReport first, right;
  first.stack = {"Smaller", "OnKey", "main"};
  right.stack = {"Greater", "OnKey", "main"};
  right.header.id = base::CreateUuidV7(1'700'000'000'900);
  right.header.hang_id = first.header.id;
  right.header.ordinal = 1;
  right.header.elapsed_ns = kEndNs;
  const std::vector<std::string> ends = {EncodeEnd(first.header.id, kEndNs),
                                         EncodeEnd(right.header.id, kEndNs, /*is_blamed=*/true)};
  const auto hangs_of = [](const MemoryCollector& collector, const char* function) {
    for (const Json& cluster : collector.Get("/v1/clusters"))
      if (cluster["frames"][0] == function) return cluster["hangs"].get<int>();
    return 0;
  };
  {
    MemoryCollector collector;
    collector.Submit({first, right}, ends);
    EXPECT_EQ(hangs_of(collector, "Greater"), 1);
    EXPECT_EQ(hangs_of(collector, "Smaller"), 0);
  }
  MemoryCollector collector;  // ends may come first
  collector.Submit({}, ends);
  collector.Submit({first});
  collector.Submit({right});
  EXPECT_EQ(hangs_of(collector, "Greater"), 1);
  EXPECT_EQ(hangs_of(collector, "Smaller"), 0);
}

TEST(QueryApi, CpuUseIsNoHangInAClustersSums) {
  MemoryCollector collector;
  SampleReport hang;
  SampleReport cpu;
  cpu.header.kind = report::HangKind::kCpu;
  cpu.header.elapsed_ns = 0;
  SampleReport elsewhere = cpu;
  elsewhere.header.id = elsewhere.header.hang_id = base::CreateUuidV7(1'700'000'000'001);
  elsewhere.stack = {"Other", "Caller"};
  collector.Submit({hang, cpu, elsewhere});
  Json clusters = collector.Get("/v1/clusters");
  ASSERT_EQ(clusters.size(), 2u);
  EXPECT_EQ(clusters[0]["reports"], 2);
  EXPECT_EQ(clusters[0]["hangs"], 1);
  EXPECT_EQ(clusters[0]["duration_ms"]["p50"], 2000);
  EXPECT_EQ(clusters[1]["reports"], 1);
  EXPECT_EQ(clusters[1]["hangs"], 0);
  EXPECT_EQ(clusters[1]["duration_ms"]["max"], 0);
}

TEST(QueryApi, ATreeOfCpuUseIsOfBoundedDepth) {
  MemoryCollector collector;
  SampleReport report;
  report.header.kind = report::HangKind::kCpuAverage;
  report.samples = {std::vector<std::string>(5000, "Recurse")};
  report.sample_cpu_ns = {1'000'000};
  collector.Submit({report});
  const Json shown = collector.Get("/v1/reports/" + base::ToString(report.header.id));
  size_t depth = 0;
  for (const Json* level = &shown["power_tree"]; !level->empty(); level = &(*level)[0]["callers"]) ++depth;
  EXPECT_EQ(depth, 32u);
}

TEST(QueryApi, OtherReportsHaveNoTreeOfCpuUse) {
  MemoryCollector collector;
  SampleReport report;
  report.sample_cpu_ns = {1'000'000};
  collector.Submit({report});
  EXPECT_FALSE(collector.Get("/v1/reports/" + base::ToString(report.header.id)).contains("power_tree"));
}

TEST(QueryApi, ListsReportsNewestFirstWithoutStacks) {
  MemoryCollector collector;
  SampleReport first, second;
  first.header.id = base::CreateUuidV7(1'000);
  second.header.id = base::CreateUuidV7(2'000);
  collector.Submit({second, first});
  Json reports = collector.Get("/v1/reports");
  ASSERT_THAT(reports, SizeIs(2));
  EXPECT_EQ(reports[0]["id"], base::ToString(second.header.id));
  EXPECT_THAT(reports[0]["cause"], ElementsAre("Leaf", "Caller"));
  EXPECT_EQ(reports[0]["ended"], false);
  EXPECT_EQ(reports[0]["duration_ms"], 2000);
  for (const char* stacks : {"expensive_stack", "samples", "threads"})
    EXPECT_FALSE(reports[0].contains(stacks));
}

// Distinct by `number`.

}  // namespace
}  // namespace lagwatch::collector
