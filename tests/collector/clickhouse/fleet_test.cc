// SPDX-License-Identifier: Apache-2.0
// Two collectors, one cluster of ClickHouse, and what is killed in the middle.
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "collector/store/clickhouse/read/sums_plan.h"
#include "report/format/losses.h"
#include "tests/collector/clickhouse/test_cluster.h"
#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {
namespace {

constexpr int kSenders = 4;
constexpr int kBatchesOfASender = 30;
constexpr int kReportsOfABatch = 20;
constexpr int kReports = kSenders * kBatchesOfASender * kReportsOfABatch;
constexpr char kKilledNode[] = "s1r1";
constexpr char kItsReplica[] = "s1r2";

// All at once: one that starts may need another's data before it is ready.
void Cluster(const std::string& command, const std::vector<std::string>& nodes = {kKilledNode}) {
  std::vector<std::unique_ptr<Process>> scripts;
  for (const std::string& node : nodes) {
    scripts.push_back(std::make_unique<Process>(
        std::vector<std::string>{LAGWATCH_CLICKHOUSE_SCRIPT, command, node, LAGWATCH_CLICKHOUSE_DIRECTORY},
        // The servers are the fixture's, and outlive the test: they are not marked as its leftovers.
        std::vector<std::string>{"LAGWATCH_CLICKHOUSE_PORT=" + std::to_string(LAGWATCH_CLICKHOUSE_PORT),
                                 std::string("TMPDIR=") + LAGWATCH_CLICKHOUSE_DIRECTORY}));
  }
  for (const auto& script : scripts) EXPECT_EQ(script->Wait(), 0) << script->Errors();
}

class Collector {
 public:
  Collector(std::string store, std::string data) : store_(std::move(store)), data_(std::move(data)) {}

  void Start() {
    process_ = std::make_unique<Process>(std::vector<std::string>{
        LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", data_, "--key", kKey,
        "--admin-token", "a_test", "--retention-days", "0", "--store", store_});
    ASSERT_TRUE(WaitUntil([&] { return process_->Output().ends_with('\n'); }, 60)) << process_->Errors();
    const std::string output = process_->Output();
    port_ = static_cast<uint16_t>(std::stoi(output.substr(output.rfind(':') + 1)));
  }
  void Kill() {
    process_->Signal(SIGKILL);
    EXPECT_EQ(process_->Wait(), -SIGKILL);
  }

  uint16_t port() const { return port_; }
  // The number of unsent batches.
  int waiting() const {
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(data_ + "/clickhouse-spool"))
      files += file.path().extension() == ".batch";
    return files;
  }
  std::string Get(const std::string& target) const {
    Client client(port_);
    client.headers = {"Authorization: Bearer a_test"};
    const Answer answer = client.Get(target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.text;
    return answer.text;
  }

 private:
  std::string store_;
  std::string data_;
  std::unique_ptr<Process> process_;
  std::atomic<uint16_t> port_{0};
};

// The status; 0 without an answer.
long TryPost(uint16_t port, const std::string& body) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  curl_slist* headers = curl_slist_append(nullptr, (std::string("Authorization: Bearer ") + kKey).c_str());
  headers = curl_slist_append(headers, "Content-Type: application/x-protobuf");
  const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/v1/reports";
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, 30L);
  curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(
      curl.get(), CURLOPT_WRITEFUNCTION, +[](char*, size_t, size_t size, void*) { return size; });
  const CURLcode code = curl_easy_perform(curl.get());
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(headers);
  return code == CURLE_OK ? status : 0;
}

class Fleet : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Collector& collector : collectors_) ASSERT_NO_FATAL_FAILURE(collector.Start());
  }
  // Also when the test ended with nodes away.
  void TearDown() override { Cluster("start", {kKilledNode, kItsReplica}); }

  // Reports of many causes, some with ends and with losses; every third batch is sent to both collectors.
  void SendAll(unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < kBatchesOfASender; ++i) {
      std::vector<std::string> reports, ends;
      std::vector<std::string> ids;
      for (int j = 0; j < kReportsOfABatch; ++j) {
        SampleReport report;
        const std::string user = "u-" + std::to_string(random() % 300);
        report.header.user = user;
        report.header.elapsed_ns = 1 + random() % 5'000'000'000;
        report.stack = {"Leaf" + std::to_string(random() % 20), "Caller" + std::to_string(random() % 3),
                        "main"};
        reports.push_back(report.Encode());
        if (random() % 2 == 0) ends.push_back(EncodeEnd(report.header.id, 5'000'000'000 + random() % 1000));
        ids.push_back(base::ToString(report.header.id));
      }
      std::string batch = EncodeBatch(reports, ends);
      report::AppendToBatch({report::RecordType::kLosses, EncodeLosses(seed, i)}, &batch);
      const size_t first = random() % 2;
      Deliver(batch, first);
      if (i % 3 == 0) Deliver(batch, 1 - first);
      std::lock_guard lock(mutex_);
      acknowledged_.insert(ids.begin(), ids.end());
    }
  }

  static std::string EncodeLosses(unsigned seed, int batch) {
    return report::EncodeLosses(
        {.id = base::CreateUuidV7(1'700'000'000'000 + batch),
         .app = "editor",
         .app_version = "2.3.1",
         .end_wall_ms = 1'700'000'000'000,
         .losses = {{.reason = report::LossReason::kTooOld, .cause = seed, .count = 3}}});
  }

  // As a client does: until a collector has accepted it.
  void Deliver(const std::string& batch, size_t first) {
    for (size_t attempt = 0; attempt < 1000; ++attempt) {
      if (TryPost(collectors_[(first + attempt) % 2].port(), batch) == 200) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "nobody takes a batch";
  }

  bool HasComeTo(int reports) {
    std::lock_guard lock(mutex_);
    return static_cast<int>(acknowledged_.size()) >= reports;
  }

  // Nothing is on its way, and all replicas have the same.
  void WaitForRest() {
    for (const Collector& collector : collectors_)
      ASSERT_TRUE(WaitUntil([&] { return collector.waiting() == 0; }, 60));
    collector::Connection nodes(collector::ClickHouseUrl::Parse(database_.Url()).value());
    for (size_t node = 0; node < nodes.node_count(); ++node) {
      ASSERT_TRUE(WaitUntil(
          [&] {
            int64_t behind = 1;
            nodes.SelectAt(
                node,
                "SELECT toInt64(countIf(is_readonly OR absolute_delay > 0 OR queue_size > 0)) FROM "
                "system.replicas",
                "i", [&](const collector::Row& row) { behind = row.Int(0); });
            return behind == 0;
          },
          60));
    }
  }

  // All that it has, newest first.
  std::vector<std::string> IdsAt(const Collector& collector) {
    std::vector<std::string> ids;
    for (;;) {
      const std::string before = ids.empty() ? "" : "&before=" + ids.back();
      const auto page = nlohmann::ordered_json::parse(collector.Get("/v1/reports?limit=1000" + before));
      for (const auto& report : page) ids.push_back(report["id"]);
      if (page.empty()) return ids;
    }
  }

  // All that was marked has been summed up, by a collector that runs.
  bool IsSummedUp() {
    const collector::ClickHouseUrl url = collector::ClickHouseUrl::Parse(database_.Url()).value();
    const collector::Schema schema(url);
    collector::Connection connection(url);
    const auto known = collector::UnitStates::Read(collector::RowSource(&connection, &schema));
    const auto plan = collector::SumsPlan::Of(known, {});
    if (!plan || !plan->others.empty()) return false;
    return std::ranges::all_of(known.states, [&](const auto& state) {
      return state.second.marks >= known.MarksOf(collector::SumsUnit(state.first));
    });
  }

  // In lists of reports, in sums, and in both collectors alike.
  void ExpectAllOnce() {
    EXPECT_TRUE(WaitUntil([&] { return IsSummedUp(); }, 120));
    ASSERT_EQ(acknowledged_.size(), size_t{kReports});
    for (const Collector& collector : collectors_) {
      const std::vector<std::string> ids = IdsAt(collector);
      EXPECT_EQ(ids.size(), acknowledged_.size());
      EXPECT_EQ(std::set(ids.begin(), ids.end()), acknowledged_);
      int64_t reports = 0, lost = 0;
      for (const auto& cause : nlohmann::ordered_json::parse(collector.Get("/v1/clusters?limit=1000")))
        reports += cause["reports"].get<int64_t>();
      for (const auto& loss : nlohmann::ordered_json::parse(collector.Get("/v1/losses")))
        lost += loss["reports"].get<int64_t>();
      EXPECT_EQ(reports, kReports);
      EXPECT_EQ(lost, int64_t{3} * kSenders * kBatchesOfASender);
    }
    const auto causes = nlohmann::ordered_json::parse(collectors_[0].Get("/v1/clusters"));
    const std::string key = causes[0]["key"];
    for (const std::string& target :
         {std::string("/v1/clusters"), std::string("/v1/clusters?level=2&app=editor"), "/v1/clusters/" + key,
          "/v1/reports?cluster=" + key, std::string("/v1/reports?user=u-7"), std::string("/v1/losses")}) {
      ExpectTheSame(target);
    }
  }

  void ExpectTheSame(const std::string& target) {
    EXPECT_EQ(collectors_[0].Get(target), collectors_[1].Get(target)) << target;
  }

  OwnDatabase database_;
  ScopedTempDirectory directory_;
  Collector collectors_[2] = {{database_.Url(), directory_ / "one"}, {database_.Url(), directory_ / "two"}};
  std::mutex mutex_;
  std::set<std::string> acknowledged_;  // ids; guarded by mutex_
};

TEST_F(Fleet, LosesAndDoublesNothingWhenAReplicaAndACollectorAreKilled) {
  std::vector<std::thread> senders;
  for (unsigned sender = 1; sender <= kSenders; ++sender)
    senders.emplace_back([=, this] { SendAll(sender); });
  EXPECT_TRUE(WaitUntil([&] { return HasComeTo(kReports / 4); }, 120));
  Cluster("kill");
  EXPECT_TRUE(WaitUntil([&] { return HasComeTo(kReports / 2); }, 120));
  collectors_[0].Kill();
  collectors_[0].Start();
  EXPECT_TRUE(WaitUntil([&] { return HasComeTo(kReports / 4 * 3); }, 120));
  Cluster("start");
  for (std::thread& sender : senders) sender.join();
  ASSERT_NO_FATAL_FAILURE(WaitForRest());

  ExpectAllOnce();
}

// Reports are taken all the time.
TEST_F(Fleet, LosesAndDoublesNothingWhenAShardIsAwayForAMinute) {
  std::vector<std::thread> senders;
  for (unsigned sender = 1; sender <= kSenders; ++sender)
    senders.emplace_back([=, this] { SendAll(sender); });
  EXPECT_TRUE(WaitUntil([&] { return HasComeTo(kReports / 4); }, 120));
  Cluster("kill", {kKilledNode, kItsReplica});
  const auto killed = std::chrono::steady_clock::now();
  for (std::thread& sender : senders) sender.join();
  std::this_thread::sleep_until(killed + std::chrono::minutes(1));
  Cluster("start", {kKilledNode, kItsReplica});
  ASSERT_NO_FATAL_FAILURE(WaitForRest());
  ExpectAllOnce();
}

// The replica that is asked first is away meanwhile, and comes back with what it had.
TEST_F(Fleet, ADeletionGoesOnAfterTheCollectorWasKilled) {
  constexpr int kOfEach = 30;
  std::vector<std::string> reports, ends;
  for (int i = 0; i < 2 * kOfEach; ++i) {
    SampleReport report;
    report.header.user = i % 2 == 0 ? "gone" : "kept";
    report.stack = {"Leaf" + std::to_string(i % 3), "main"};
    reports.push_back(report.Encode());
    ends.push_back(EncodeEnd(report.header.id, 5'000'000'000));
  }
  Deliver(EncodeBatch(reports, ends), 0);
  ASSERT_NO_FATAL_FAILURE(WaitForRest());
  Cluster("kill");
  Client client(collectors_[0].port());
  client.headers = {"Authorization: Bearer a_test", "Content-Type: application/json"};
  const std::string body = R"({"kind": "user", "subject": "gone"})";
  ASSERT_EQ(client.Perform("POST", "/v1/admin/deletions", &body).status, 202);
  collectors_[0].Kill();
  collectors_[0].Start();
  nlohmann::ordered_json deletion;
  EXPECT_TRUE(WaitUntil(
      [&] {
        deletion = nlohmann::ordered_json::parse(collectors_[0].Get("/v1/admin/deletions"))[0];
        return !deletion["ended_wall_ms"].is_null();
      },
      60))
      << deletion;
  Cluster("start");
  collector::Connection nodes(collector::ClickHouseUrl::Parse(database_.Url()).value());
  const auto count_gone = [&] {
    int64_t count = 0;
    for (size_t node = 0; node < nodes.node_count(); ++node) {
      nodes.SelectAt(node,
                     "SELECT toInt64(countIf(user = 'gone')) FROM " +
                         collector::Schema(collector::ClickHouseUrl::Parse(database_.Url()).value())
                             .OfShard(collector::kReports),
                     "i", [&](const collector::Row& row) { count += row.Int(0); });
    }
    return count;
  };
  EXPECT_TRUE(WaitUntil([&] { return count_gone() == 0; }, 60)) << count_gone();
  for (const Collector& collector : collectors_) {
    EXPECT_EQ(IdsAt(collector).size(), size_t{kOfEach});
    int64_t summed = 0;
    for (const auto& cause : nlohmann::ordered_json::parse(collector.Get("/v1/clusters")))
      summed += cause["reports"].get<int64_t>();
    EXPECT_EQ(summed, kOfEach);
  }
}

}  // namespace
}  // namespace lagwatch::testing
