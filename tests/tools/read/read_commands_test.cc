// SPDX-License-Identifier: Apache-2.0
// The commands as people type them, against a real collector and a spool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/collector/sample_traces.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"
#include "tests/testing/tls_server.h"
#include "tools/commands.h"
#include "tools/read/report_source.h"

namespace lagwatch::tools {
namespace {

using testing::EncodeBatch;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::SampleReport;

constexpr int kUsage = 2;

struct Outcome {
  int exit_code = 0;
  std::string out;
  std::string err;
};

class ReadCommands : public ::testing::Test {
 protected:
  ReadCommands() {
    for (const char* name : {"LAGWATCH_ENDPOINT", "LAGWATCH_TOKEN", "LAGWATCH_CA_FILE", "LAGWATCH_SPOOL"})
      unsetenv(name);
  }

  // `lagwatch` with these arguments.
  Outcome Run(const std::string& arguments) {
    CLI::App app("test", "lagwatch");
    Outcome outcome;
    auto load = [this](const std::string& directory) -> base::Result<std::string> {
      spool_asked_for_ = directory;
      if (!load_status_.ok()) return load_status_;
      return spool_;
    };
    AddReadCommands(&app, load, /*symbol_worker=*/"", &outcome.exit_code);
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    try {
      app.parse(arguments);
    } catch (const CLI::ParseError& error) {
      outcome.exit_code = kUsage;
      refusal_ = error.what();
    }
    outcome.out = ::testing::internal::GetCapturedStdout();
    outcome.err = ::testing::internal::GetCapturedStderr();
    return outcome;
  }

  std::string spool_;  // what the spool holds, as a batch
  base::Status load_status_;
  std::string refusal_;  // of the last line that was not understood
  std::string spool_asked_for_;
};

// More than a collector takes in one request: a reader of a local spool needs no such protection.
TEST_F(ReadCommands, ShowASpoolOfAnySize) {
  const std::string end = testing::EncodeEnd(base::CreateUuidV7(1), 1);
  spool_ = EncodeBatch({SampleReport().Encode()}, std::vector<std::string>(10'000, end));
  EXPECT_THAT(Run("clusters --spool /some/where").out, HasSubstr("Leaf"));
}

TEST_F(ReadCommands, ReadASpoolWithoutAServer) {
  spool_ = EncodeBatch({SampleReport().Encode()});
  Outcome clusters = Run("clusters --spool /some/where");
  EXPECT_EQ(clusters.exit_code, 0);
  EXPECT_THAT(clusters.out, HasSubstr("Leaf < Caller"));
  EXPECT_EQ(spool_asked_for_, "/some/where");
  EXPECT_THAT(Run("clusters --level 2").out, HasSubstr("Leaf < Caller < Loop"));
}

TEST_F(ReadCommands, FindTheSpoolInTheEnvironmentOrItsUsualPlace) {
  setenv("XDG_STATE_HOME", "/state", 1);
  Run("reports");
  EXPECT_EQ(spool_asked_for_, "/state/lagwatch/spool");
  setenv("LAGWATCH_SPOOL", "/named", 1);
  Run("reports");
  EXPECT_EQ(spool_asked_for_, "/named");
  Run("reports --spool /flag");
  EXPECT_EQ(spool_asked_for_, "/flag");
}

TEST_F(ReadCommands, SayThatThereIsNothing) {
  for (const char* command : {"clusters", "reports", "frames"}) {
    Outcome people = Run(command);
    EXPECT_EQ(people.exit_code, 0);
    EXPECT_THAT(people.out, IsEmpty());
    EXPECT_THAT(people.err, HasSubstr("no "));
    EXPECT_EQ(Run(std::string(command) + " --json").out, "[]\n");
  }
}

TEST_F(ReadCommands, ListsAreFilteredByAllThatTheApiKnows) {
  std::vector<std::string> reports;
  const int64_t now_ms = base::SystemClock().WallMs() - 1000;
  for (const auto& [name, tag, user, days_ago] :
       {std::tuple("Save", "save", "ann", 0), std::tuple("Load", "open", "bob", 9)}) {
    SampleReport report{.stack = {name, "Caller"}};
    report.header.id = report.header.hang_id = base::CreateUuidV7(now_ms - days_ago * base::kMsPerDay);
    report.header.distribution = std::string(name) == "Save" ? "Debian" : "Fedora";
    report.header.tag = tag;
    report.header.user = user;
    report.verdict.word = policies::VerdictWord::kLock;
    reports.push_back(report.Encode());
  }
  spool_ = EncodeBatch(reports);
  for (const char* filter :
       {"--tag save", "--user ann", "--days 7", "--distribution Debian",
        "--tag save --verdict lock --kind lag --version 2.3.1 --os 'Linux 6.1.0' --loop ui"}) {
    for (const char* list : {"clusters ", "reports "}) {
      const Outcome filtered = Run(std::string(list) + filter);
      EXPECT_THAT(filtered.out, HasSubstr("Save < Caller")) << list << filter << filtered.err << refusal_;
      EXPECT_THAT(filtered.out, ::testing::Not(HasSubstr("Load"))) << list << filter;
    }
  }
  EXPECT_THAT(Run("clusters --distribution Debain").err,
              HasSubstr("no distribution 'Debain' in the newest reports; did you mean 'Debian'?"));
  EXPECT_THAT(Run("reports --app edi").err, HasSubstr("did you mean 'editor'?"));
  EXPECT_EQ(Run("clusters --verdict lokc").exit_code, kUsage);
  EXPECT_THAT(refusal_, HasSubstr("no verdict 'lokc'; did you mean 'lock'?"));
  EXPECT_EQ(Run("reports --kind xyzzyxyzzy").exit_code, kUsage);
  EXPECT_THAT(refusal_, HasSubstr("there are: "));
}

TEST_F(ReadCommands, JsonOfAnEmptySpoolIsAnEmptyArray) {
  for (const char* list : {"clusters", "reports", "traces", "frames", "usage", "losses"}) {
    const Outcome empty = Run(std::string(list) + " --json");
    EXPECT_EQ(empty.exit_code, 0) << list;
    EXPECT_EQ(empty.out, "[]\n") << list;
  }
}

TEST_F(ReadCommands, TheDefaultSpoolIsEmptyUntilSomethingIsReported) {
  load_status_ = base::Status(base::StatusCode::kNotFound, "there is no spool directory");
  const Outcome empty = Run("reports --json");
  EXPECT_EQ(empty.exit_code, 0);
  EXPECT_EQ(empty.out, "[]\n");
  EXPECT_EQ(Run("reports --json --spool /typo").exit_code, 1);
}

TEST_F(ReadCommands, ShowOneReport) {
  SampleReport report;
  std::string id = base::ToString(report.header.id);
  spool_ = EncodeBatch({report.Encode()});
  EXPECT_THAT(Run("report " + id).out, HasSubstr("Most expensive stack\n  Leaf"));
  EXPECT_EQ(Json::parse(Run("report --json " + id.substr(0, 10)).out)["id"], id);
  Outcome missing = Run("report ffff");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err, HasSubstr("no such report"));
}

TEST_F(ReadCommands, ShowFrames) {
  report::AppendToBatch(
      {report::RecordType::kFrameSlice,
       testing::EncodeFrames({.id = base::CreateUuidV7(1),
                              .session_id = base::CreateUuidV7(1),
                              .app = "editor",
                              .app_version = "2.3.1",
                              .user = "",
                              .loop = "ui",
                              .scene = "inbox",
                              .begin_wall_ms = 1,
                              .duration_ns = 1,
                              .refresh_interval_ns = 20'000'000,
                              .frames = {.frames = 600,
                                         .dropped = 600,
                                         .by_level = {560, 20, 11, 7, 2},
                                         .by_stage_ns = {10'000'000, 0, 0, 0, 90'000'000}}})},
      &spool_);
  EXPECT_THAT(Run("frames").out, ::testing::ContainsRegex(
                                     "editor 2.3.1 +ui +inbox +50 +25.0 +600 +600 +20 +11 +7 +2 +draw 90 %"));
  EXPECT_EQ(Json::parse(Run("frames --json --app editor").out)[0]["levels"]["frozen"], 2);
}

TEST_F(ReadCommands, AReportTellsItsTraceAndGivesIt) {
  SampleReport report, other;
  spool_ = EncodeBatch({report.Encode(), other.Encode()});
  testing::AppendTrace(testing::TraceOf(report.header.id), &spool_);
  const std::string id = base::ToString(report.header.id), other_id = base::ToString(other.header.id);
  EXPECT_THAT(Run("report " + id).out, HasSubstr("\nBefore the hang\n  40 ms recorded (lag), "));
  EXPECT_THAT(Run("report " + id).out, HasSubstr("lagwatch report " + id + " --trace "));
  EXPECT_EQ(Run("report " + other_id).out.find("Before the hang"), std::string::npos);

  testing::ScopedTempDirectory directory;
  const std::string file = directory / "led.collapsed";
  EXPECT_EQ(Run("report " + id + " --trace " + file).exit_code, 0);
  std::ifstream written(file);
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(written), {}),
              HasSubstr("main;Handle;Load 20000000"));
  EXPECT_EQ(Run("report " + id + " --trace " + (directory / "led.lwtrace")).exit_code, 0);
  EXPECT_THAT(Run("report " + other_id + " --trace " + file).err, HasSubstr("has no trace"));
  EXPECT_EQ(Run("report " + id + " --trace led.txt").exit_code, kUsage);
}

TEST_F(ReadCommands, FilterReportsByCluster) {
  spool_ = EncodeBatch({SampleReport().Encode(), SampleReport{.stack = {"Other"}}.Encode()});
  std::string key = Json::parse(Run("clusters --json").out)[0]["key"];
  EXPECT_EQ(Json::parse(Run("reports --json --cluster " + key).out).size(), 1u);
  EXPECT_EQ(Json::parse(Run("reports --json --limit 1").out).size(), 1u);
  EXPECT_EQ(Run("reports --json --app nobody").out, "[]\n");
}

TEST_F(ReadCommands, RefuseWrongUsage) {
  for (const char* arguments : {"clusters --level 3", "reports --limit 0", "report", "report no_id",
                                "reports extra", "clusters --spool /x --endpoint http://x"}) {
    EXPECT_EQ(Run(arguments).exit_code, kUsage) << arguments;
  }
}

TEST_F(ReadCommands, AskACollector) {
  auto store = collector::SqliteStore::Open(":memory:");
  collector::Ingest ingest(store->get(), collector::Clusterer::Create("").value());
  collector::QueryApi query_api(store->get(), collector::Clusterer::Create("")->rules());
  collector::GroupCommit commits(store->get());
  collector::KeyRing keys({{"r_test", collector::Access::kRead}, {"k_test", collector::Access::kProject}});
  const collector::Router router(
      collector::CollectorEndpoints(
          {.ingest = &ingest, .commits = &commits, .query_api = &query_api, .keys = &keys}, {}),
      &keys);
  auto server = collector::HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router);
  SampleReport report;
  report.header.app = "a & b";
  ASSERT_TRUE(ingest.Submit(EncodeBatch({report.Encode()})).ok());
  std::string endpoint = "http://127.0.0.1:" + std::to_string(server.value()->port());

  EXPECT_THAT(Run("clusters --token r_test --app 'a & b' --endpoint " + endpoint + "/").out,
              HasSubstr("Leaf < Caller"));
  setenv("LAGWATCH_ENDPOINT", endpoint.c_str(), 1);
  setenv("LAGWATCH_TOKEN", "r_test", 1);
  EXPECT_THAT(Run("reports").out, HasSubstr("Leaf < Caller"));
  EXPECT_EQ(Run("report " + base::ToString(report.header.id)).exit_code, 0);

  Outcome wrong_token = Run("clusters --token r_wrong");
  EXPECT_EQ(wrong_token.exit_code, 1);
  EXPECT_THAT(wrong_token.err, HasSubstr("Authorization"));
  EXPECT_THAT(Run("clusters --token k_test").err, HasSubstr("read or admin token"));
  server.value()->Stop();
  Outcome nobody = Run("clusters");
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("check --endpoint"));
}

TEST_F(ReadCommands, TrustOnlyACollectorThatTheGivenAuthorityCertifies) {
  const testing::Identity authority = testing::MakeIdentity("", nullptr);
  testing::TlsServer server(testing::MakeIdentity("IP:127.0.0.1", &authority),
                            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n[]");
  testing::ScopedTempDirectory directory;
  std::ofstream(directory / "ca.pem") << authority.CertificatePem();
  const std::string ask = "reports --token r_secret --endpoint " + server.endpoint();
  EXPECT_EQ(Run(ask).exit_code, 1);
  EXPECT_EQ(Run(ask + " --ca-file " + (directory / "ca.pem")).exit_code, 0);
}

TEST(ReadAnswer, DoubtsWhatIsNoCollectors) {
  EXPECT_FALSE(ReadAnswer(200, "<html>").ok());
  EXPECT_FALSE(ReadAnswer(404, "[]").ok());
  EXPECT_EQ(ReadAnswer(404, R"({"error": {"message": "gone"}})").status().code(),
            base::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lagwatch::tools
