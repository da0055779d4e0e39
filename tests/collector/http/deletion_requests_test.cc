// SPDX-License-Identifier: Apache-2.0
// Deletions by admins over HTTP, and concurrent changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <thread>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "collector/maintenance/retention_job.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kKey;
using ::testing::Not;
using testing::SampleReport;
using ::testing::SizeIs;

SampleReport ReportOfUser(const char* user, std::vector<std::string> stack = {"Save", "OnSave"}) {
  SampleReport report{.stack = std::move(stack)};
  report.header.user = user;
  return report;
}

class ChangesTest : public ::testing::Test {
 protected:
  ChangesTest() { client_.headers[1] = "Content-Type: application/json"; }

  Answer Send(const char* method, const std::string& path, const Json& body,
              const std::string& if_match = {}) {
    const std::string text = body.dump();
    if (!if_match.empty()) client_.headers.push_back("If-Match: " + if_match);
    Answer answer = client_.Perform(method, path, &text);
    client_.headers.resize(2);
    return answer;
  }
  Answer Delete(const std::string& kind, const std::string& subject) {
    return Send("POST", "/v1/admin/deletions", {{"kind", kind}, {"subject", subject}});
  }
  Json Deletions() { return client_.Get("/v1/admin/deletions").json(); }
  void DoDeletions() {
    while (deletions_.Step().value()) {
    }
  }
  static std::string EtagOf(const Answer& answer) {
    constexpr std::string_view kName = "ETag: ";
    const size_t begin = answer.head.find(kName);
    if (begin == std::string::npos) return "";
    return answer.head.substr(begin + kName.size(), answer.head.find('\r', begin) - begin - kName.size());
  }
  std::string FileText(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> CausesIn(const std::string& query) {
    std::vector<std::string> functions;
    for (const Json& cause : client_.Get("/v1/clusters" + query).json())
      functions.push_back(cause["frames"][0]);
    std::ranges::sort(functions);
    return functions;
  }

  testing::ScopedMemoryDirectory directory_;
  testing::MemoryCollector collector_;
  ConfigService config_{directory_ / "config.json", directory_ / "config-version",
                        report::SigningKey::Create().value()};
  AuditLog audit_{directory_ / "audit.jsonl"};
  ConfigAdmin config_admin_{directory_ / "config.json", directory_ / "history", &config_, &audit_};
  AnnotatedCauses causes_{collector_.store.get()};
  collector::Deletions deletions_{collector_.store.get(), directory_ / "deletions.json"};
  std::atomic<int> wakes_{0};
  KeyRing keys_{{{kKey, Access::kAdmin}, {"r_read", Access::kRead}}};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .config = &config_,
                                     .causes = &causes_,
                                     .config_admin = &config_admin_,
                                     .audit = &audit_,
                                     .store = collector_.store.get(),
                                     .deletions = &deletions_,
                                     .wake_maintenance = [this] { ++wakes_; }},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_ =
      std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 2}, &router_).value());
  Client client_{server_->port()};
};

TEST_F(ChangesTest, AUsersRecordsGoAndHisNameWithThem) {
  collector_.Submit({ReportOfUser("j. doe <jd@example>"), ReportOfUser("other")});
  const Answer begun = Delete("user", "j. doe <jd@example>");
  ASSERT_EQ(begun.status, 202) << begun.text;
  EXPECT_EQ(begun.json()["ended_wall_ms"], Json());
  EXPECT_EQ(wakes_, 1);
  DoDeletions();
  EXPECT_THAT(client_.Get("/v1/reports").json(), SizeIs(1));
  EXPECT_EQ(client_.Get("/v1/clusters").json()[0]["users"], 1);
  const Json deletion = Deletions()[0];
  EXPECT_EQ(deletion["id"], begun.json()["id"]);
  EXPECT_EQ(deletion["reports"], 1);
  EXPECT_GT(deletion["ended_wall_ms"], 0);
  EXPECT_EQ(deletion["by"], "given-1");
  EXPECT_EQ(deletion["subject"], SubjectDigest("j. doe <jd@example>"));
  for (const char* file : {"deletions.json", "audit.jsonl"}) {
    EXPECT_THAT(FileText(file), HasSubstr(SubjectDigest("j. doe <jd@example>"))) << file;
    EXPECT_THAT(FileText(file), Not(HasSubstr("jd@example"))) << file;
  }
  EXPECT_EQ(client_.Get("/v1/admin/audit").json()[0]["action"], "deletion.begin");
}

TEST_F(ChangesTest, ADeletionIsDoneAfterARestart) {
  collector_.Submit({ReportOfUser("one"), ReportOfUser("two"), ReportOfUser("three")});
  EXPECT_EQ(Delete("user", "two").status, 202);
  EXPECT_EQ(Delete("app", "editor").status, 202);
  collector::Deletions restarted(collector_.store.get(), directory_ / "deletions.json");
  while (restarted.Step().value()) {
  }
  EXPECT_THAT(client_.Get("/v1/reports").json(), IsEmpty());
  const auto all = restarted.All().value();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].removed.reports, 2);
  EXPECT_EQ(all[1].removed.reports, 1);
}

TEST_F(ChangesTest, ACauseIsDeletedWithWhatWasMergedIntoIt) {
  collector_.Submit({ReportOfUser("u", {"One", "Main"}), ReportOfUser("u", {"Two", "Main"}),
                     ReportOfUser("u", {"Other", "Main"})});
  std::map<std::string, std::string> keys;
  for (const Json& cause : client_.Get("/v1/clusters").json()) keys[cause["frames"][0]] = cause["key"];
  ASSERT_EQ(Send("PATCH", "/v1/admin/clusters/" + keys["Two"], {{"merged_into", keys["One"]}}).status, 200);
  EXPECT_EQ(Delete("cluster", keys["One"]).status, 202);
  DoDeletions();
  EXPECT_THAT(CausesIn(""), ElementsAre("Other"));
}

TEST_F(ChangesTest, WhatCannotBeDeletedIsRefused) {
  const SampleReport report = ReportOfUser("u");
  collector_.Submit({report});
  for (const Json& body :
       {Json(), Json::array(), Json{{"kind", "user"}}, Json{{"kind", "user"}, {"subject", ""}},
        Json{{"kind", "planet"}, {"subject", "x"}}, Json{{"kind", "user"}, {"subject", 7}},
        Json{{"kind", "user"}, {"subject", "u"}, {"and", "more"}}, Json{{"kind", "report"}, {"subject", "x"}},
        Json{{"kind", "user"}, {"subject", std::string(1025, 'x')}}}) {
    EXPECT_EQ(Send("POST", "/v1/admin/deletions", body).status, 400) << body;
  }
  EXPECT_EQ(Delete("cluster", "none").status, 404);
  EXPECT_EQ(Delete("report", base::ToString(base::CreateUuidV7(1))).status, 404);
  client_.headers[0] = "Authorization: Bearer r_read";
  EXPECT_EQ(Delete("user", "u").status, 403);
  EXPECT_EQ(client_.Get("/v1/admin/deletions").status, 403);
  DoDeletions();
  EXPECT_TRUE(collector_.store->FindReport(report.header.id)->has_value());
}

TEST_F(ChangesTest, OneReportIsDeletedAlone) {
  const SampleReport gone = ReportOfUser("u"), kept = ReportOfUser("u");
  collector_.Submit({gone, kept});
  EXPECT_EQ(Delete("report", base::ToString(gone.header.id)).status, 202);
  DoDeletions();
  EXPECT_FALSE(collector_.store->FindReport(gone.header.id)->has_value());
  EXPECT_TRUE(collector_.store->FindReport(kept.header.id)->has_value());
}

TEST_F(ChangesTest, ADamagedFileOfDeletionsIsAnErrorThatNamesIt) {
  std::ofstream(directory_ / "deletions.json") << "{";
  EXPECT_EQ(Delete("user", "u").status, 500);
  EXPECT_THAT(client_.Get("/v1/admin/deletions").text, HasSubstr("deletions.json"));
}

// Each of 60 clients changes another text of one cause, or knows that another did.
TEST_F(ChangesTest, NoneOfManyChangesAtTheSameTimeIsLost) {
  collector_.Submit({ReportOfUser("u")});
  const std::string key = client_.Get("/v1/clusters").json()[0]["key"];
  const std::string path = "/v1/admin/clusters/" + key;
  constexpr int kClients = 60;
  constexpr std::array<const char*, 4> kFields = {"title", "link", "fixed_in", "state"};
  constexpr std::array<const char*, 4> kTexts = {"Saves", "https://bugs.example/1", "3.0", "known"};
  for (const bool has_tag : {false, true}) {
    for (const char* field : kFields) Send("PATCH", path, {{field, nullptr}});
    const std::string etag = EtagOf(client_.Get(path));
    ASSERT_NE(etag, "");
    std::atomic<int> applied{0}, refused{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kClients; ++i) {
      threads.emplace_back([&, i] {
        Client client(server_->port());
        client.headers[1] = "Content-Type: application/json";
        if (has_tag) client.headers.push_back("If-Match: " + etag);
        const std::string body = Json{{kFields[i % 4], kTexts[i % 4]}}.dump();
        const long status = client.Perform("PATCH", path, &body).status;
        applied += status == 200;
        refused += status == 412;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(applied + refused, kClients);
    EXPECT_EQ(applied, has_tag ? 1 : kClients);
    const Json note = client_.Get(path).json();
    int changed = 0;
    for (size_t i = 0; i < kFields.size(); ++i) changed += note[kFields[i]] == kTexts[i];
    EXPECT_EQ(changed, has_tag ? 1 : 4) << note;
  }
}

TEST_F(ChangesTest, AChangeOfWhatAnotherHasChangedIsRefused) {
  collector_.Submit({ReportOfUser("u")});
  const std::string path =
      "/v1/admin/clusters/" + client_.Get("/v1/clusters").json()[0]["key"].get<std::string>();
  const std::string first = EtagOf(client_.Get(path));
  const Answer changed = Send("PATCH", path, {{"title", "One"}}, first);
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(EtagOf(changed), EtagOf(client_.Get(path)));
  const Answer refused = Send("PATCH", path, {{"title", "Two"}}, first);
  EXPECT_EQ(refused.status, 412);
  EXPECT_EQ(refused.json()["error"]["code"], "precondition_failed");
  EXPECT_EQ(EtagOf(refused), EtagOf(changed));
  EXPECT_EQ(Send("PATCH", path, {{"title", "Three"}}, "\"x\" , " + EtagOf(changed)).status, 200);
  EXPECT_EQ(Send("PATCH", path, {{"title", "Four"}}, "*").status, 200);
  EXPECT_EQ(client_.Get(path).json()["title"], "Four");
  EXPECT_EQ(client_.Get("/v1/admin/clusters/none").status, 404);
}

TEST_F(ChangesTest, AConfigThatAnotherHasChangedIsRefused) {
  const std::string path = "/v1/admin/config";
  const std::string first = EtagOf(client_.Get(path));
  EXPECT_EQ(Send("PUT", path, {{"anr_threshold_ms", 6000}}, first).status, 200);
  EXPECT_EQ(Send("PUT", path, {{"anr_threshold_ms", 7000}}, first).status, 412);
  EXPECT_EQ(Send("POST", "/v1/admin/allowlist", {{"user", "u"}}, first).status, 412);
  EXPECT_EQ(Send("POST", "/v1/admin/capture-requests", {{"cluster", "12ab"}}, first).status, 412);
  EXPECT_EQ(Send("POST", "/v1/admin/config/rollback", {{"version", 1}}, first).status, 412);
  const Answer now = client_.Get(path);
  EXPECT_EQ(now.json()["config"], Json({{"anr_threshold_ms", 6000}}));
  EXPECT_EQ(Send("POST", "/v1/admin/allowlist", {{"user", "u"}}, EtagOf(now)).status, 200);
}

TEST_F(ChangesTest, TheListLeavesOutWhatIsDoneWith) {
  for (const char* function : {"Fixed", "Ignored", "Known", "New", "Back"})
    collector_.Submit({ReportOfUser("u", {function, "Main"}), ReportOfUser("u", {function, "Main"})});
  const Json all = client_.Get("/v1/clusters?state=all").json();
  ASSERT_THAT(all, SizeIs(5));
  for (const Json& cause : all) {
    const std::string path = "/v1/admin/clusters/" + cause["key"].get<std::string>();
    const std::string function = cause["frames"][0];
    if (function == "Fixed") Send("PATCH", path, {{"state", "fixed"}, {"fixed_in", "99.0"}});
    if (function == "Back") Send("PATCH", path, {{"state", "fixed"}, {"fixed_in", "0.1"}});
    if (function == "Ignored") Send("PATCH", path, {{"state", "ignored"}});
    if (function == "Known") Send("PATCH", path, {{"state", "known"}});
  }
  EXPECT_THAT(CausesIn(""), ElementsAre("Back", "Known", "New"));
  EXPECT_THAT(CausesIn("?level=2"), ElementsAre("Back", "Fixed", "Ignored", "Known", "New"));  // of level 1
  EXPECT_THAT(CausesIn("?state=all"), SizeIs(5));
  EXPECT_THAT(CausesIn("?state=ignored"), ElementsAre("Ignored"));
  EXPECT_THAT(CausesIn("?state=fixed,regressed"), ElementsAre("Back", "Fixed"));
  EXPECT_THAT(CausesIn("?state=new"), ElementsAre("New"));
  EXPECT_THAT(CausesIn("?state=new,ignored&q=nor"), ElementsAre("Ignored"));
  EXPECT_THAT(CausesIn("?state=ignored&app=none"), IsEmpty());
  EXPECT_EQ(client_.Get("/v1/clusters?state=great").status, 400);
  EXPECT_EQ(client_.Get("/v1/clusters?state=new,").status, 400);
  // Pages have what is shown.
  std::vector<std::string> paged;
  for (int offset = 0; offset < 4; ++offset) {
    for (const std::string& function : CausesIn("?limit=1&offset=" + std::to_string(offset)))
      paged.push_back(function);
  }
  EXPECT_THAT(paged, ::testing::UnorderedElementsAre("Back", "Known", "New"));
}

}  // namespace
}  // namespace lagwatch::collector
