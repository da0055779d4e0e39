// SPDX-License-Identifier: Apache-2.0
// The program among strangers that have a valid project key: it is in every copy of a program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>

#include "base/clock.h"
#include "collector/store/records.h"
#include "report/format/report.h"
#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using testing::RawConnection;
using testing::SampleReport;

constexpr char kAdmin[] = "a_strangers";

class StrangersProgram : public ::testing::Test {
 protected:
  StrangersProgram() { Start(); }
  void Start() {
    collector_ = std::make_unique<Process>(
        std::vector<std::string>{LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", data_,
                                 "--key", testing::kKey, "--admin-token", kAdmin, "--min-free-mib", "0"});
    EXPECT_TRUE(testing::WaitUntil([&] { return collector_->Output().ends_with('\n'); }))
        << collector_->Errors();
    const std::string line = collector_->Output();
    port_ = static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  Answer Ask(const char* method, const std::string& target, const std::string& body = {}) {
    Client client(port_);
    client.headers = {std::string("Authorization: Bearer ") + kAdmin, "Content-Type: application/json"};
    return client.Perform(method, target, body.empty() ? nullptr : &body);
  }
  std::string Send(const std::string& request) {
    RawConnection connection(port_);
    connection.Send(request);
    connection.ShutDownSending();
    return connection.ReceiveAll();
  }

  testing::ScopedMemoryDirectory directory_;
  std::string data_ = directory_ / "data";
  std::unique_ptr<Process> collector_;
  uint16_t port_ = 0;
};

TEST_F(StrangersProgram, LogsNoKeyWhereverARequestHasIt) {
  const Answer added = Ask("POST", "/v1/admin/keys", R"({"name": "editor", "access": "project"})");
  ASSERT_EQ(added.status, 201) << added.text;
  const std::string made = added.json()["key"];
  for (const std::string& key : {std::string(testing::kKey), made}) {
    for (const std::string& target :
         {"http://" + key + "@host/api/1/envelope/", "/" + key, "/api/" + key + "/envelope/",
          "/api/1/store/%3Fsentry_key=" + key, "/v1/reports/" + key, "/v1/clusters?token=" + key}) {
      Send("POST " + target + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
      Send(key + " " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    }
  }
  EXPECT_TRUE(
      testing::WaitUntil([&] { return collector_->Errors().find("refused with 404") != std::string::npos; }));
  EXPECT_THAT(collector_->Errors(), HasSubstr("http://[redacted]@host/api/1/envelope/"));
  EXPECT_THAT(collector_->Errors(), Not(HasSubstr(testing::kKey)));
  EXPECT_THAT(collector_->Errors(), Not(HasSubstr(made)));
}

TEST_F(StrangersProgram, RefusesNamesThatItDoesNotKnow) {
  const Answer misspelt = Ask("GET", "/v1/clusters?verison=9");
  EXPECT_EQ(misspelt.status, 400);
  EXPECT_THAT(misspelt.text, HasSubstr("do you mean \\\"version\\\"?"));
  for (const char* path : {"/v1/reports", "/v1/usage", "/v1/events", "/v1/admin/audit", "/v1/admin/keys",
                           "/v1/symbols", "/metrics", "/v1/key"})
    EXPECT_EQ(Ask("GET", std::string(path) + "?zzz=X").status, 400) << path;
  const Answer wide = Ask("POST", "/v1/admin/keys", R"({"name": "e", "access": "read", "app": "editor"})");
  EXPECT_EQ(wide.status, 400) << wide.text;
  EXPECT_EQ(Ask("GET", "/v1/admin/keys").json().size(), 0u);
  // Newer programs may say more.
  Client program(port_);
  EXPECT_EQ(program.Get("/v1/config?app=x&distribution=y").status, 404);
}

TEST_F(StrangersProgram, EndsWithoutReportsAreBoundedAndGoWithTheirKey) {
  int64_t accepted = 0;
  int64_t rejected = 0;
  for (int batch = 0; batch < 8; ++batch) {
    std::vector<std::string> ends;
    for (int i = 0; i < 1500; ++i) {
      const base::Uuid id = base::CreateUuidV7(base::SystemClock().WallMs());
      ends.push_back("\x0a\x10" + std::string(id.as_bytes()) + "\x10\x01");
    }
    const Answer answer = Client(port_).Post(EncodeBatch({}, ends));
    ASSERT_EQ(answer.status, 200) << answer.text;
    accepted += answer.json()["accepted"].get<int64_t>();
    rejected += answer.json()["rejected"].get<int64_t>();
  }
  EXPECT_EQ(accepted, 10'000);
  EXPECT_EQ(rejected, 2000);
  const Answer begun = Ask("POST", "/v1/admin/deletions", R"({"kind": "key", "subject": "given-1"})");
  EXPECT_EQ(begun.status, 202) << begun.text;
  EXPECT_TRUE(testing::WaitUntil([&] {
    const auto deletion = Ask("GET", "/v1/admin/deletions").json()[0];
    return deletion.value("records", 0) + deletion.value("others", 0) >= 10'000;
  })) << Ask("GET", "/v1/admin/deletions").text;
}

TEST_F(StrangersProgram, OneReportOfAMonthIsNotAllOfTheList) {
  SampleReport report;
  report.header.app = "editor";
  const int64_t wall_ms = base::SystemClock().WallMs();
  report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
  report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
  report.header.elapsed_ns = uint64_t{29} * 86'400 * 1'000'000'000;
  std::string encoded = report.Encode();
  report::AppendSampleRate(report::RecordType::kReport, 100, &encoded);
  ASSERT_EQ(Client(port_).Post(EncodeBatch({encoded})).json()["accepted"], 1);
  const auto cause = Ask("GET", "/v1/clusters?app=editor").json()[0];
  EXPECT_LE(cause["estimated"]["hang_ms"].get<double>(), 24 * 3.6e6);
  EXPECT_THAT(Ask("GET", "/metrics").text, HasSubstr("lagwatch_records_total{result=\"bounded\"} 1"));
}

// The collector was updated during the hang, for example; its memory does not have the report any more.
TEST_F(StrangersProgram, TheEndOfALongHangCountsAfterARestart) {
  constexpr int64_t kMinutes = 40;
  SampleReport report;
  const int64_t wall_ms = base::SystemClock().WallMs() - kMinutes * 60'000;
  report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
  const base::Uuid id = report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
  ASSERT_EQ(Client(port_).Post(EncodeBatch({report.Encode()})).json()["accepted"], 1);
  collector_->Signal(SIGTERM);
  ASSERT_EQ(collector_->Wait(), 0);
  Start();
  const std::string end = testing::EncodeEnd(id, kMinutes * 60'000'000'000);
  const Answer answer = Client(port_).Post(EncodeBatch({}, {end}));
  ASSERT_EQ(answer.json()["accepted"], 1) << answer.text;
  EXPECT_EQ(Ask("GET", "/v1/reports/" + base::ToString(id)).json()["duration_ms"], kMinutes * 60'000.0);
}

TEST_F(StrangersProgram, TheFirstKeyHasAQuota) {
  const std::string data = directory_ / "other";
  Process other({LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", data});
  ASSERT_TRUE(testing::WaitUntil([&] { return other.Output().ends_with('\n'); })) << other.Errors();
  std::ifstream file(data + "/keys.json");
  const std::string keys{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(keys, HasSubstr("\"reports_per_s\": 1000"));
  EXPECT_THAT(keys, HasSubstr("\"bytes_per_day\""));
}

}  // namespace
}  // namespace lagwatch::collector
