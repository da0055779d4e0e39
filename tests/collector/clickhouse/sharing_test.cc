// SPDX-License-Identifier: Apache-2.0
// Two collectors on one cluster of ClickHouse have the same keys and config.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/uuid.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kOk = 200;
constexpr int kUnauthorized = 401;

class SharingCollector {
 public:
  SharingCollector(std::string store, std::string data) : store_(std::move(store)), data_(std::move(data)) {}

  void Start() {
    process_ = std::make_unique<Process>(
        std::vector<std::string>{LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", data_,
                                 "--retention-days", "0", "--store", store_});
    ASSERT_TRUE(WaitUntil([&] { return process_->Output().ends_with('\n'); }, 60)) << process_->Errors();
    const std::string output = process_->Output();
    port_ = static_cast<uint16_t>(std::stoi(output.substr(output.rfind(':') + 1)));
  }
  void Stop() {
    process_->Signal(SIGTERM);
    EXPECT_EQ(process_->Wait(), 0) << process_->Errors();
  }
  bool Has(const std::string& file) const { return std::filesystem::exists(data_ + "/" + file); }
  std::string TextOf(const std::string& file) const {
    std::ifstream stream(data_ + "/" + file);
    std::string line;
    std::getline(stream, line);
    return line;
  }
  Answer Ask(const std::string& key, const char* method, const std::string& target,
             const Json& body = {}) const {
    Client client(port_);
    client.headers = {"Authorization: Bearer " + key, "Content-Type: application/json"};
    const std::string text = body.dump();
    return client.Perform(method, target, body.is_null() ? nullptr : &text);
  }
  Answer Upload(const std::string& key, const std::string& batch) const {
    Client client(port_);
    client.headers.front() = "Authorization: Bearer " + key;
    return client.Post(batch);
  }
  long Knows(const std::string& key) const { return Ask(key, "GET", "/v1/key").status; }
  const std::string& data() const { return data_; }

 private:
  std::string store_;
  std::string data_;
  std::unique_ptr<Process> process_;
  uint16_t port_ = 0;
};

class SharedSettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (SharingCollector* each : {&one_, &other_}) ASSERT_NO_FATAL_FAILURE(each->Start());
    admin_ = one_.TextOf("admin-token");
  }
  std::string AddKey(const SharingCollector& at, const std::string& name) {
    const Answer added = at.Ask(admin_, "POST", "/v1/admin/keys", {{"name", name}, {"access", "project"}});
    EXPECT_EQ(added.status, 201) << added.text;
    return added.json()["key"];
  }
  std::set<std::string> KeyNames(const SharingCollector& at) {
    std::set<std::string> names;
    for (const Json& key : at.Ask(admin_, "GET", "/v1/admin/keys").json())
      names.insert(key["name"].get<std::string>());
    return names;
  }
  Json ConfigAt(const SharingCollector& collector) {
    Json config = collector.Ask(admin_, "GET", "/v1/admin/config").json();
    return {{"version", config["version"]}, {"config", config["config"]}};
  }

  OwnDatabase database_;
  ScopedTempDirectory directory_;
  SharingCollector one_{database_.Url(), directory_ / "one"};
  SharingCollector other_{database_.Url(), directory_ / "other"};
  std::string admin_;
};

TEST_F(SharedSettingsTest, TheSecondCollectorHasTheFirstOnesKeysFromItsStartOn) {
  EXPECT_TRUE(one_.Has("key"));
  EXPECT_FALSE(other_.Has("key"));
  EXPECT_FALSE(other_.Has("admin-token"));
  EXPECT_EQ(other_.Knows(admin_), kOk);
  EXPECT_EQ(other_.Knows(one_.TextOf("key")), kOk);
}

TEST_F(SharedSettingsTest, AKeyIsAcceptedAndRefusedByBoth) {
  const std::string key = AddKey(one_, "ci");
  EXPECT_TRUE(WaitUntil([&] { return other_.Knows(key) == kOk; }));
  EXPECT_EQ(other_.Ask(admin_, "DELETE", "/v1/admin/keys/ci").status, kOk);
  EXPECT_EQ(other_.Knows(key), kUnauthorized);
  EXPECT_TRUE(WaitUntil([&] { return one_.Knows(key) == kUnauthorized; }));
  EXPECT_EQ(one_.Knows(admin_), kOk);
}

TEST_F(SharedSettingsTest, KeysOfOneNameThatWereAddedByCommandsComeToBoth) {
  EXPECT_TRUE(WaitUntil([&] { return KeyNames(other_).size() == 2; }));
  std::vector<std::string> keys;
  for (SharingCollector* each : {&one_, &other_}) {
    each->Stop();
    Process add({LAGWATCH_COLLECTOR_PROGRAM, "--data", each->data(), "keys", "add", "--name", "ci",
                 "--access", "project"});
    ASSERT_EQ(add.Wait(), 0) << add.Errors();
    keys.push_back(add.Output().substr(0, add.Output().find('\n')));
  }
  for (SharingCollector* each : {&one_, &other_}) ASSERT_NO_FATAL_FAILURE(each->Start());
  for (const SharingCollector* each : {&one_, &other_}) {
    for (const std::string& key : keys) EXPECT_TRUE(WaitUntil([&] { return each->Knows(key) == kOk; }));
  }
  EXPECT_TRUE(WaitUntil([&] { return KeyNames(one_) == KeyNames(other_); }));
  EXPECT_EQ(KeyNames(one_).size(), 4u);
}

TEST_F(SharedSettingsTest, AKeyRevokedWhileACollectorWasAwayIsRefusedWhenItIsBack) {
  const std::string key = AddKey(one_, "ci");
  EXPECT_TRUE(WaitUntil([&] { return other_.Knows(key) == kOk; }));
  other_.Stop();
  EXPECT_EQ(one_.Ask(admin_, "DELETE", "/v1/admin/keys/ci").status, kOk);
  const std::string later = AddKey(one_, "later");
  one_.Stop();
  // The last change is sent at the next start at the latest.
  ASSERT_NO_FATAL_FAILURE(one_.Start());
  ASSERT_NO_FATAL_FAILURE(other_.Start());
  EXPECT_EQ(other_.Knows(key), kUnauthorized);
  EXPECT_EQ(other_.Knows(later), kOk);
}

TEST_F(SharedSettingsTest, TheConfigAndItsVersionAreTheSame) {
  ASSERT_EQ(one_.Ask(admin_, "PUT", "/v1/admin/config", {{"threshold_ms", 700}}).status, kOk);
  EXPECT_TRUE(WaitUntil([&] { return ConfigAt(other_) == ConfigAt(one_); })) << ConfigAt(other_);
  EXPECT_EQ(ConfigAt(other_)["config"]["threshold_ms"], 700);
  const uint64_t version = ConfigAt(one_)["version"];
  ASSERT_EQ(other_.Ask(admin_, "PUT", "/v1/admin/config", {{"threshold_ms", 900}}).status, kOk);
  EXPECT_TRUE(WaitUntil([&] { return ConfigAt(one_)["config"]["threshold_ms"] == 900; }));
  EXPECT_EQ(ConfigAt(one_), ConfigAt(other_));
  EXPECT_GT(ConfigAt(one_)["version"].get<uint64_t>(), version);
  // The clients' view, and the way back.
  const std::string key = one_.TextOf("key");
  EXPECT_EQ(other_.Ask(key, "GET", "/v1/config?app=a&version=1&user=u").status, kOk);
  ASSERT_EQ(one_.Ask(admin_, "POST", "/v1/admin/config/rollback", {{"version", version}}).status, kOk);
  EXPECT_TRUE(WaitUntil([&] { return ConfigAt(other_)["config"]["threshold_ms"] == 700; }));
}

TEST_F(SharedSettingsTest, AKeyStaysRevokedWhenTheTableOfSettingsWasLost) {
  const std::string key = AddKey(one_, "ci");
  EXPECT_TRUE(WaitUntil([&] { return other_.Knows(key) == kOk; }));
  other_.Stop();
  EXPECT_EQ(one_.Ask(admin_, "DELETE", "/v1/admin/keys/ci").status, kOk);
  one_.Stop();
  ASSERT_NO_FATAL_FAILURE(one_.Start());  // it has sent that now
  const auto url = collector::ClickHouseUrl::Parse(database_.Url()).value();
  collector::Connection nodes(url);
  for (size_t node = 0; node < nodes.node_count(); ++node)
    nodes.ExecuteAt(node, "TRUNCATE TABLE " + url.database + ".settings_v1");
  // This one still has the key, and sends it.
  ASSERT_NO_FATAL_FAILURE(other_.Start());
  EXPECT_TRUE(WaitUntil([&] { return other_.Knows(key) == kUnauthorized; }));
  EXPECT_EQ(one_.Knows(key), kUnauthorized);
  EXPECT_EQ(other_.Knows(admin_), kOk);
}

// Behind a load balancer.
TEST_F(SharedSettingsTest, TheEndOfALongHangCountsByTheReportThatTheOtherOneTook) {
  constexpr int64_t kMinutes = 40;
  SampleReport report;
  const int64_t wall_ms = base::SystemClock().WallMs() - kMinutes * 60'000;
  report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
  const base::Uuid id = report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
  const std::string key = one_.TextOf("key");
  const std::string path = "/v1/reports/" + base::ToString(id);
  ASSERT_EQ(one_.Upload(key, EncodeBatch({report.Encode()})).json()["accepted"], 1);
  EXPECT_TRUE(WaitUntil([&] { return other_.Ask(admin_, "GET", path).status == kOk; }));
  const Answer answer = other_.Upload(key, EncodeBatch({}, {EncodeEnd(id, kMinutes * 60'000'000'000)}));
  ASSERT_EQ(answer.json()["accepted"], 1) << answer.text;
  EXPECT_TRUE(WaitUntil([&] {
    return one_.Ask(admin_, "GET", path).json()["duration_ms"] == kMinutes * 60'000.0;
  })) << one_.Ask(admin_, "GET", path).json()["duration_ms"];
}

}  // namespace
}  // namespace lagwatch::testing
