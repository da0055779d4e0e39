// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/fact_names.h"
#include "report/format/losses.h"
#include "tests/testing/sample_report.h"
#include "tools/read/report_lists.h"
#include "tools/read/report_source.h"
#include "tools/read/screen.h"

namespace lagwatch::tools {
namespace {

using testing::EncodeBatch;
using testing::EncodeEnd;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::SampleReport;

// A spool that holds `batch`.
std::unique_ptr<ReportSource> SourceOf(const std::string& batch) {
  auto load = [&](const std::string&) -> base::Result<std::string> { return batch; };
  return std::move(OpenSpool("/no/such/directory", load).value());
}

TEST(ReportText, ClustersAreATable) {
  SampleReport report{.stack = {"@0x4000", "@0x5000", "Run"}};
  auto source = SourceOf(EncodeBatch({report.Encode()}, {EncodeEnd(report.header.id, 4'100'000'000)}));
  Json clusters = source->Get("/v1/clusters", {}).value();
  std::string key = clusters[0]["key"];
  EXPECT_EQ(ClusterTable(clusters, 1, 0),
            "HANG-S  HANGS  USERS    P95  CAUSE (innermost 2)                    VERSIONS  KEY\n"
            "   4.1      1      1  4.1 s  editor+0x4000 < editor+0x5000 via Run  2.3.1     " +
                key + "\n");
}

TEST(ReportText, ACauseIsCalledWhatPeopleCallIt) {
  SampleReport report{.stack = {"Load", "Run"}};
  Json clusters = SourceOf(EncodeBatch({report.Encode()}))->Get("/v1/clusters", {}).value();
  clusters[0]["held_by"] = {"Backup"};
  EXPECT_THAT(ClusterTable(clusters, 1, 0), HasSubstr("Load < Run, lock held by Backup"));
  clusters[0]["title"] = "Slow loading";
  clusters[0]["state"] = "regressed";
  EXPECT_THAT(ClusterTable(clusters, 1, 0), HasSubstr("[regressed] Slow loading  "));
}

TEST(ReportText, CausesWithReportsBeyondTheLimitsSaySo) {
  SampleReport report{.stack = {"Load", "Run"}};
  Json clusters = SourceOf(EncodeBatch({report.Encode()}))->Get("/v1/clusters", {}).value();
  EXPECT_THAT(ClusterTable(clusters, 1, 0), ::testing::Not(HasSubstr("limits")));
  clusters[0]["capped"] = {{"reports", 3}, {"hang_ms", 7'200'000}};
  const std::string key = clusters[0]["key"];
  EXPECT_THAT(
      ClusterTable(clusters, 1, 0),
      HasSubstr("\n" + key +
                ": reports beyond the collector's limits: 3, hang time that does not count: 7200.0 s\n"));
}

TEST(ReportText, LossesAreATable) {
  const report::Losses losses{.id = base::CreateUuidV7(1),
                              .app = "editor",
                              .app_version = "2.3.1",
                              .losses = {{report::LossReason::kCauseIsFull, 0x2a, 10, 500'000},
                                         {report::LossReason::kDamaged, 0, 1, 0}}};
  std::string batch;
  report::AppendToBatch({report::RecordType::kLosses, report::EncodeLosses(losses)}, &batch);
  EXPECT_EQ(LossTable(SourceOf(batch)->Get("/v1/losses", {}).value(), 0),
            "APP           REASON         CAUSE-KEY         REPORTS  ESTIMATED\n"
            "editor 2.3.1  cause-is-full  000000000000002a       10         20\n"
            "editor 2.3.1  damaged                                1          1\n");
}

TEST(ReportText, ReportsAreATable) {
  SampleReport report;
  report.header.id = report.header.hang_id = *base::TryParseUuid("018bcfe5-6800-7000-8000-000000000001");
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  EXPECT_EQ(
      ReportTable(source->Get("/v1/reports", {}).value(), 0),
      "STARTED (UTC)         LASTED  APP           LOOP  DISPATCH  CAUSE (innermost 2)  RUN ENDED BY  ID\n"
      "2023-11-14 22:13:20  > 2.0 s  editor 2.3.1  ui    key       Leaf < Caller                      "
      "018bcfe5-6800-7000-8000-000000000001\n");
}

TEST(ReportText, AReportSaysItsKindAndLevelWhenTheyAreNotPlain) {
  SampleReport plain;
  SampleReport raised;
  raised.header.kind = report::HangKind::kBusyLoop;
  raised.header.level = report::HangLevel::kAnr;
  auto text_of = [](const SampleReport& report) {
    return ReportText(SourceOf(EncodeBatch({report.Encode()}))
                          ->Get("/v1/reports/" + base::ToString(report.header.id), {})
                          .value());
  };
  EXPECT_THAT(text_of(raised), HasSubstr("\n  kind     busy-loop\n  level    anr\n  app "));
  EXPECT_THAT(text_of(plain), Not(HasSubstr("  kind ")));
  EXPECT_THAT(text_of(plain), Not(HasSubstr("  level ")));
}

TEST(ReportText, ADumpIsListedAsOneAndIsNoCauseOfHangs) {
  SampleReport dump;
  dump.header.kind = report::HangKind::kDump;
  auto source = SourceOf(EncodeBatch({dump.Encode()}));
  EXPECT_THAT(ReportTable(source->Get("/v1/reports", {}).value(), 0), HasSubstr("  dump  editor"));
  EXPECT_TRUE(source->Get("/v1/clusters", {}).value().empty());
  std::string text = ReportText(source->Get("/v1/reports/" + base::ToString(dump.header.id), {}).value());
  EXPECT_THAT(text, HasSubstr("\n  kind     dump\n"));
  EXPECT_THAT(text, HasSubstr("\n  loop     ui, reason key, thread "));
  EXPECT_THAT(text, Not(HasSubstr("lasted")));
  EXPECT_THAT(text, Not(HasSubstr("CPU      ")));
}

TEST(ReportText, AHangThatItsRunWasKilledInIsMarked) {
  SampleReport report;
  report::RunEnd end{.session_id = report.header.session_id,
                     .reason = policies::ExitReason::kKilledInHang,
                     .report_id = report.header.id,
                     .hang_ns = 7'000'000'000};
  std::string batch = EncodeBatch({report.Encode()});
  report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(end)}, &batch);
  Json reports = SourceOf(batch)->Get("/v1/reports", {}).value();
  EXPECT_EQ(reports[0]["kind"], "killed-in-hang");
  EXPECT_EQ(reports[0]["ended"], true);
  EXPECT_THAT(ReportTable(reports, 0), HasSubstr("  7.0 s killed  "));
}

TEST(ReportText, HowItsRunEndedIsShownWithAReport) {
  SampleReport report;
  report::RunEnd end{.session_id = report.header.session_id,
                     .reason = policies::ExitReason::kHangInCrash,
                     .signal = 11,
                     .report_id = report.header.id,
                     .hang_ns = 7'000'000'000};
  std::string batch = EncodeBatch({report.Encode()});
  report::AppendToBatch({report::RecordType::kRunEnd, report::EncodeRunEnd(end)}, &batch);
  auto source = SourceOf(batch);
  EXPECT_THAT(ReportTable(source->Get("/v1/reports", {}).value(), 0),
              HasSubstr("  hang-in-crash, signal 11  "));
  EXPECT_THAT(ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value()),
              HasSubstr("\n  run      ended by hang-in-crash, signal 11\n"));
}

// As older clients made it: newer ones leave it out.
TEST(ReportText, WhatIsLagwatchsOwnIsNoPartOfAReport) {
  SampleReport report{.threads = {{"worker", {"Work"}},
                                  {"lagwatch", {"Run"}},
                                  {"lagwatch-sync", {"Run"}},
                                  {"lagwatch-fan", {"Work"}}}};
  const char* hook = "_ZN8lagwatch5trace12_GLOBAL__N_113HookMutexLockEP15pthread_mutex_t";
  report.stack = {"pthread_mutex_lock", hook, "Find", "main"};
  report.waits = {{.fields = {.tid = 4712,
                              .lock = {.address = 0x7f10,
                                       .kind = report::LockKind::kMutex,
                                       .waits_for = report::WaitsFor::kOwner,
                                       .owner_tid = 4713},
                              .owner_name = "worker"},
                   .stack = report.stack,
                   .owner_stack = {"poll", hook, "Work"}}};
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  const Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  EXPECT_EQ(json.dump().find("HookMutexLock"), std::string::npos);
  EXPECT_EQ(json["lagwatch_threads"], 2);
  const std::string text = ReportText(json);
  EXPECT_THAT(text, HasSubstr("\nMost expensive stack\n  pthread_mutex_lock  (editor+0x1010)\n  Find  "));
  EXPECT_THAT(text, HasSubstr("  2 threads of lagwatch\n"));
  EXPECT_THAT(text, HasSubstr(" lagwatch-fan  "));
  EXPECT_THAT(text, Not(HasSubstr(" lagwatch-sync  ")));
  // As its own client counted them; what has such a name then is the program's.
  report.facts = {{policies::kOwnThreadsFact, 5, ""}};
  source = SourceOf(EncodeBatch({report.Encode()}));
  const std::string counted =
      ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
  EXPECT_THAT(counted, HasSubstr("  5 threads of lagwatch\n"));
  EXPECT_THAT(counted, HasSubstr(" lagwatch-sync  "));
  EXPECT_THAT(counted, Not(HasSubstr("lagwatch_threads")));
  // In a library of lagwatch's, whatever its functions are called.
  SampleReport preloaded{.module_path = "/usr/lib/lagwatch/liblagwatch-preload.so"};
  source = SourceOf(EncodeBatch({preloaded.Encode()}));
  EXPECT_EQ(source->Get("/v1/reports/" + base::ToString(preloaded.header.id), {}).value()["expensive_stack"],
            Json::array());
}

TEST(ReportText, WhoIsWaitedForIsShownBesideTheVerdict) {
  auto lines_of = [](policies::VerdictWord word, const std::vector<report::Fact>& facts) {
    SampleReport report;
    report.verdict.word = word;
    report.verdict.shares.wall_ns = 1'000'000'000;
    report.facts = facts;
    auto source = SourceOf(EncodeBatch({report.Encode()}));
    const std::string text =
        ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
    EXPECT_THAT(text, Not(HasSubstr("waits_for")));
    const size_t begin = text.find("  verdict");
    return text.substr(begin, text.find("  CPU  ") - begin);
  };
  using policies::VerdictWord;
  std::vector<report::Fact> facts = {
      {"waits_for", 0, "process"}, {"waits_for_pid", 4711, ""}, {"waits_for_name", 0, "sleep"}};
  EXPECT_EQ(lines_of(VerdictWord::kProcess, facts), "  verdict  process  waits for: sleep (pid 4711)\n");
  EXPECT_EQ(lines_of(VerdictWord::kCpu, facts), "  verdict  cpu\n  at last  waits for: sleep (pid 4711)\n");
  facts = {{"waits_for", 0, "process"}, {"waits_for_pid", 4711, ""}, {"waits_for_count", 3, ""}};
  EXPECT_EQ(lines_of(VerdictWord::kProcess, facts),
            "  verdict  process  waits for: a process (pid 4711), one of 3\n");
  facts = {{"waits_for", 0, "name-lookup"}, {"waits_for_address", 0, "127.0.0.53:53"}};
  EXPECT_EQ(lines_of(VerdictWord::kNameLookup, facts), "  verdict  name-lookup  waits for: 127.0.0.53:53\n");
  facts = {{"waits_for", 0, "service"},
           {"waits_for_pid", 71, ""},
           {"waits_for_name", 0, "dbus-daemon"},
           {"waits_for_address", 0, "/run/bus"}};
  EXPECT_EQ(lines_of(VerdictWord::kService, facts),
            "  verdict  service  waits for: dbus-daemon (pid 71), /run/bus\n");
  facts = {{"verdict_with_processor", 0, "cpu"}};
  EXPECT_EQ(lines_of(VerdictWord::kStarved, facts), "  verdict  cpu, starved\n");
}

TEST(ReportText, SharesAreShownAsPercentAndLoadsAsNumbers) {
  SampleReport report;
  report.facts = {{"load_1min_permille", 2120, ""}, {"cpu_pressure_permille", 34, ""}};
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  const Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  EXPECT_EQ(json["facts"]["load_1min_permille"], 2120);
  EXPECT_THAT(ReportText(json), HasSubstr("\n  cpu_pressure  3.4 %\n"));
  EXPECT_THAT(ReportText(json), HasSubstr("\n  load_1min  2.12\n"));
  EXPECT_THAT(ReportText(json), Not(HasSubstr("permille")));
}

TEST(ReportText, AReportHasHeaderStackTimelineAndThreads) {
  SampleReport report{.samples = {{"Leaf", "main"}, {"Leaf", "main"}, {"Other", "main"}},
                      .threads = {{"worker\x1b", {"Work"}}}};
  report.header.id = report.header.hang_id = *base::TryParseUuid("018bcfe5-6800-7000-8000-000000000001");
  auto source = SourceOf(EncodeBatch({report.Encode()}, {EncodeEnd(report.header.id, 4'100'000'000)}));
  Json json = source->Get("/v1/reports/018b", {}).value();
  std::string cluster =
      json["cluster"]["level1"].get<std::string>() + " > " + json["cluster"]["level2"].get<std::string>();
  EXPECT_EQ(ReportText(json),
            "`Leaf` froze editor 2.3.1 for 4.1 s\n"
            "Report 018bcfe5-6800-7000-8000-000000000001\n"
            "  app      editor 2.3.1, user u-71\n"
            "  loop     ui, dispatch key, thread 4712 of process 4711\n"
            "  started  2023-11-14 22:13:20 UTC\n"
            "  lasted   4.1 s (threshold 2.0 s)\n"
            "  CPU      thread 95 %, process 99 % over the last 1.0 s\n"
            "  machine  Linux 6.1.0 x86_64\n"
            "  cluster  " +
                cluster +
                "\n"
                "\n"
                "Flame graph (the outermost first)\n"
                "  100.0 %    150 ms  main\n"
                "   66.7 %    100 ms    Leaf\n"
                "   33.3 %     50 ms    Other\n"
                "\n"
                "Most expensive stack\n"
                "  Leaf  (editor+0x1010)\n"
                "  Caller  (editor+0x2010)\n"
                "  Loop  (editor+0x3010)\n"
                "  main  (editor+0x4010)\n"
                "\n"
                "Timeline (3 samples, before the report)\n"
                "     -0.15 s to  -0.10 s    2 x  Leaf < main\n"
                "     -0.05 s to  -0.05 s    1 x  Other < main\n"
                "\n"
                "Facts\n"
                "  fds  12\n"
                "  scene  inbox\n"
                "\n"
                "Threads\n"
                "  4712 main  R  5.0 s CPU\n"
                "    Leaf  (editor+0x1010)\n"
                "    Caller  (editor+0x2010)\n"
                "    Loop  (editor+0x3010)\n"
                "    main  (editor+0x4010)\n"
                "  4713 worker?  D  0.0 s CPU  in fsync (folio_wait_bit_common)\n"
                "    Work  (editor+0x6010)\n");
}

TEST(ReportText, AReportListsTheLatestDispatchesBeforeIt) {
  SampleReport report;
  std::vector<std::string> tags;
  for (int64_t i = 1; i <= 12; ++i) tags.push_back("paint " + std::to_string(i));
  for (int64_t i = 1; i <= 12; ++i) {
    report.history.push_back({.tag = tags[static_cast<size_t>(i) - 1],
                              .age_ns = (14 - i) * 1'000'000'000,
                              .wall_ns = i * 10'000'000});
  }
  // The hang itself, which is not among them.
  report.history.push_back({.tag = "the hang", .age_ns = 0, .wall_ns = 2'000'000'000});
  report.history[10].cpu_ns = 90'000'000;
  report.history[11].queue_wait_ns = 1'500'000'000;
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  const std::string text =
      ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
  const size_t begin = text.find("\nDispatches before");
  ASSERT_NE(begin, std::string::npos) << text;
  const std::string table = text.substr(begin, text.find("\n\n", begin) - begin);
  EXPECT_THAT(table, HasSubstr("Dispatches before (the last 10 of 12 over 1 ms)\n"));
  EXPECT_THAT(table, ::testing::Not(HasSubstr("paint 2\n")));
  EXPECT_THAT(table, HasSubstr("11.0 s before   30 ms      -         -  paint 3\n"));
  EXPECT_THAT(table, HasSubstr(" 3.0 s before  110 ms  90 ms         -  paint 11\n"));
  EXPECT_THAT(table, HasSubstr(" 2.0 s before  120 ms      -     1.5 s  paint 12"));
}

TEST(ReportText, OnATerminalTheGuiltyLineIsMarkedAndOthersAreFolded) {
  SampleReport report;
  report.stack = {"memcpy",      "std::copy",       "std::move", "free",
                  "Blur::Apply", "g_main_loop_run", "main",      "_start"};
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  const Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  EXPECT_THAT(ReportText(json), HasSubstr("\nMost expensive stack\n  memcpy  (editor+0x1010)\n  std::copy"));
  EXPECT_THAT(ReportText(json, StackStyle::kMarked), HasSubstr("\n> Blur::Apply  (editor+0x5010)\n"));
  EXPECT_THAT(ReportText(json, StackStyle::kFolded),
              HasSubstr("\nMost expensive stack\n"
                        "  memcpy  (editor+0x1010)\n"
                        "  … (3 frames of libraries and the system)\n"
                        "> Blur::Apply  (editor+0x5010)\n"
                        "  … (3 frames of libraries and the system)\n"));
  EXPECT_THAT(PaintReport("> Blur::Apply  (editor+0x5010)\n"), ::testing::StartsWith("\x1b[1m"));
}

TEST(ReportText, TheFlameGraphIsLeftHeavyAndFoldsWhatIsNotTheProgramsOwn) {
  SampleReport report;
  report.samples = {{"Read", "Load", "g_main_loop_run", "main"},
                    {"Parse", "Load", "g_main_loop_run", "main"},
                    {"memcpy", "Parse", "Load", "g_main_loop_run", "main"}};
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  const Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  EXPECT_THAT(ReportText(json), HasSubstr("\nFlame graph (the outermost first)\n"
                                          "  100.0 %    150 ms  main\n"
                                          "  100.0 %    150 ms  g_main_loop_run\n"
                                          "  100.0 %    150 ms  Load\n"
                                          "   66.7 %    100 ms    Parse\n"
                                          "   33.3 %     50 ms      memcpy\n"
                                          "   33.3 %     50 ms    Read\n"));
  EXPECT_THAT(ReportText(json, StackStyle::kFolded), HasSubstr("… (2 frames of libraries and the system)\n"
                                                               "  100.0 %    150 ms  Load\n"));
}

TEST(ReportText, TheFlameGraphOfADeepStackHasItsOutermostFunctions) {
  SampleReport report;
  report.samples = {{"Read", "Load", "main"}, {"Parse", "Load", "main"}};
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  Json& stack = json["samples"][0]["stack"];
  const Json frame = stack[0];
  stack.insert(stack.begin(), 60'000, frame);
  EXPECT_THAT(ReportText(json), HasSubstr("\nFlame graph (the outermost first)\n  100.0 %"));
}

TEST(ReportText, PlugInsAreNamedWithTheirShare) {
  SampleReport report;
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  EXPECT_THAT(ReportText(json), Not(HasSubstr("  code  "))) << "all of it is the program";
  json["packages"] = {{{"package", "foo.so"}, {"share", 0.93}}, {{"package", "editor"}, {"share", 0.07}}};
  EXPECT_THAT(ReportText(json), HasSubstr("\n  code     93 % in foo.so, 7 % in editor\n"));
}

TEST(ReportText, AVerdictHasItsLargestShares) {
  auto verdict_of = [](policies::VerdictWord word, const policies::TimeShares& shares) {
    SampleReport report;
    report.verdict.word = word;
    report.verdict.shares = shares;
    auto source = SourceOf(EncodeBatch({report.Encode()}));
    std::string text = ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
    size_t begin = text.find("  verdict");
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  };
  using policies::VerdictWord;
  policies::TimeShares shares;
  EXPECT_EQ(verdict_of(VerdictWord::kUnknown, shares), "");
  shares.wall_ns = 1'000'000'000;
  EXPECT_EQ(verdict_of(VerdictWord::kUnknown, shares), "  verdict  unknown");
  shares.user_ns = 20'000'000;
  shares.kernel_ns = 5'000'000;
  shares.lock_ns = 970'000'000;
  EXPECT_EQ(verdict_of(VerdictWord::kLock, shares), "  verdict  lock (lock 97 %, cpu 2 %)");
  shares.lock_ns = 100'000'000;
  shares.kernel_ns = 200'000'000;
  shares.run_queue_ns = 150'000'000;
  shares.disk_ns = 500'000'000;
  EXPECT_EQ(verdict_of(VerdictWord::kDisk, shares),
            "  verdict  disk (disk 50 %, kernel cpu 20 %, no cpu 15 %)");
}

TEST(ReportText, AReportOfCpuUseIsAboutTheProcess) {
  SampleReport report{.samples = {{"Hash", "Scan"}, {"Copy"}}, .sample_cpu_ns = {750'000'000, 250'000'000}};
  report.header.id = report.header.hang_id = *base::TryParseUuid("018bcfe5-6800-7000-8000-000000000001");
  report.header.kind = report::HangKind::kCpuAverage;
  report.header.loop = report.header.tag = "";
  report.header.elapsed_ns = 0;
  report.header.cpu_window_ns = 60'000'000'000;
  report.header.cpu_process_ns = 97'800'000'000;
  report.facts = {{"cores", 2, ""},
                  {"limit_percent", 20, ""},
                  {"foreground", 0, ""},
                  {"busiest_1_name", 0, "indexer"},
                  {"busiest_1_tid", 4712, ""},
                  {"busiest_1_percent", 99, ""}};
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  std::string text = ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
  EXPECT_THAT(text,
              HasSubstr("\n  kind     cpu-average\n  app      editor 2.3.1, user u-71, process 4711\n"));
  EXPECT_THAT(text,
              HasSubstr("\n  CPU      process 163 % of a processor over the last 60.0 s (limit 20 % of 2), "
                        "in the background\n"));
  EXPECT_THAT(text, HasSubstr("\nBusiest threads\n  4712 indexer  99 % of a processor\n"
                              "\nCPU time by call (innermost functions first)\n"
                              "   75 %  Hash\n"
                              "     75 %  Scan\n"
                              "   25 %  Copy\n"
                              "\nThreads\n"));
  EXPECT_THAT(text, Not(HasSubstr("lasted")));
  report.facts.push_back({"limit_of", 0, "thread"});
  source = SourceOf(EncodeBatch({report.Encode()}));
  text = ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
  EXPECT_THAT(text, HasSubstr(" (limit 20 % of one, for a thread), in the background\n"));
  EXPECT_THAT(ReportTable(source->Get("/v1/reports", {}).value(), 0), HasSubstr("  -  editor"));
}

TEST(ReportText, ASlowDispatchHasATreeWithCosts) {
  SampleReport report{
      .stack = {"Parse", "Load", "OnOpen"},
      .samples = {{"OnOpen"}, {"Load", "OnOpen"}, {"Parse", "Load", "OnOpen"}, {"Paint", "OnOpen"}},
      .sample_costs = {{.wall_ns = 10'000'000, .calls = 1},
                       {.wall_ns = 90'000'000, .calls = 1},
                       {.wall_ns = 700'000'000, .calls = 12},
                       {.wall_ns = 200'000'000}}};
  report.header.kind = report::HangKind::kSlow;
  report.header.elapsed_ns = 1'000'000'000;
  report.header.threshold_ms = 700;
  report.header.cpu_thread_ns = 430'000'000;
  report.facts = {{"tree_of", 0, "calls"}, {"foreground", 0, ""}};
  auto source = SourceOf(EncodeBatch({report.Encode()}, {EncodeEnd(report.header.id, 1'000'000'000)}));
  const std::string text =
      ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
  EXPECT_THAT(text, HasSubstr("\n  kind     slow\n"));
  EXPECT_THAT(text, HasSubstr("\n  lasted   1.0 s (threshold 700 ms)\n  CPU      thread 43 %\n"));
  EXPECT_THAT(text, HasSubstr("\nTime by call (recorded calls)\n"
                              "  100 %     1.0 s  OnOpen\n"
                              "   79 %    790 ms    Load\n"
                              "   70 %    700 ms      Parse  (12 calls)\n"
                              "   20 %    200 ms    Paint\n"
                              "\nHeaviest path\n"
                              "  Parse"));
  EXPECT_THAT(text, HasSubstr("\n  foreground  0\n"));
  EXPECT_THAT(text, Not(HasSubstr("Timeline")));
}

TEST(ReportText, FramesLeftOutOfADeepStackAreCounted) {
  SampleReport report;
  auto source = SourceOf(EncodeBatch({report.Encode()}));
  Json json = source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value();
  json["expensive_stack"][2]["left_out_before"] = 9744;
  EXPECT_THAT(ReportText(json), HasSubstr("  Caller  (editor+0x2010)\n"
                                          "  … (9744 frames left out)\n"
                                          "  Loop  (editor+0x3010)\n"));
}

TEST(ReportText, AReportSaysWhoWaitsForWhom) {
  using report::LockKind;
  using report::WaitsFor;
  auto wait = [](uint32_t tid, LockKind kind, WaitsFor waits_for, int32_t owner_tid, const char* owner_name) {
    return testing::SampleWait{
        .fields = {.tid = tid,
                   .lock = {.address = 0x7f10, .kind = kind, .waits_for = waits_for, .owner_tid = owner_tid},
                   .owner_name = owner_name},
        .stack = {"pthread_mutex_lock", "Find"},
        .owner_stack = {"Refill"}};
  };
  auto text_of = [](const SampleReport& report) {
    auto source = SourceOf(EncodeBatch({report.Encode()}));
    return ReportText(source->Get("/v1/reports/" + base::ToString(report.header.id), {}).value());
  };
  SampleReport chain{.waits = {wait(4712, LockKind::kMutex, WaitsFor::kOwner, 72, "cache"),
                               wait(72, LockKind::kThread, WaitsFor::kOwner, 73, ""),
                               wait(73, LockKind::kRwLock, WaitsFor::kReaders, 0, ""),
                               wait(74, LockKind::kCondition, WaitsFor::kSignal, 0, ""),
                               wait(75, LockKind::kUnknown, WaitsFor::kUnknown, 0, "")}};
  EXPECT_THAT(
      text_of(chain),
      HasSubstr("\nWait chain\n"
                "  thread 4712 (main) waits at Find for mutex 0x7f10 held by thread 72 (cache) at Refill\n"
                "  thread 72 (cache) waits at Find for thread 73 at Refill to end\n"
                "  thread 73 waits at Find for rwlock 0x7f10 held by readers\n"
                "  thread 74 waits at Find for a signal (condition 0x7f10)\n"
                "  thread 75 waits at Find for futex 0x7f10; the thread that could end it is unknown\n"
                "\nTimeline"));
  SampleReport deadlock{.waits = {wait(4712, LockKind::kMutex, WaitsFor::kOwner, 72, "a"),
                                  wait(72, LockKind::kMutex, WaitsFor::kOwner, 73, "b"),
                                  wait(73, LockKind::kMutex, WaitsFor::kOwner, 72, "a")},
                        .wait_outcome = report::WaitOutcome::kDeadlock};
  EXPECT_THAT(text_of(deadlock),
              HasSubstr("  deadlock: thread 72 waits for thread 73 waits for thread 72\n\nTimeline"));
}

TEST(ReportText, DamagedSpoolsAreRefusedOnlyWhenNothingIsLeft) {
  auto load = [](const std::string&) -> base::Result<std::string> { return EncodeBatch({"no report"}); };
  EXPECT_FALSE(OpenSpool("/no/such/directory", load).ok());
  EXPECT_EQ(SourceOf(EncodeBatch({"no report", SampleReport().Encode()}))->Get("/v1/reports", {})->size(),
            1u);
}

}  // namespace
}  // namespace lagwatch::tools
