// SPDX-License-Identifier: Apache-2.0
// Changes by admins over HTTP: clusters, and the config for clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "report/config/remote_config.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Answer;
using testing::Client;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using testing::kKey;
using testing::SampleReport;
using ::testing::SizeIs;

class AdminRequestsTest : public ::testing::Test {
 protected:
  AdminRequestsTest() { client_.headers[1] = "Content-Type: application/json"; }

  Answer Send(const char* method, const std::string& path, const std::string& body) {
    return client_.Perform(method, path, &body);
  }
  Answer Delete(const std::string& path) { return client_.Perform("DELETE", path, nullptr); }
  Json Config() { return client_.Get("/v1/admin/config").json(); }
  std::string ClusterKey() {
    collector_.Submit({SampleReport{.stack = {"Save", "OnSave"}}});
    return client_.Get("/v1/clusters").json()[0]["key"];
  }

  testing::ScopedTempDirectory directory_;
  testing::MemoryCollector collector_;
  ConfigService config_{directory_ / "config.json", directory_ / "config-version",
                        report::SigningKey::Create().value()};
  AuditLog audit_{directory_ / "audit.jsonl"};
  ConfigAdmin config_admin_{directory_ / "config.json", directory_ / "history", &config_, &audit_};
  AnnotatedCauses causes_{collector_.store.get()};
  KeyRing keys_{{{kKey, Access::kAdmin}, {"r_read", Access::kRead}}};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .config = &config_,
                                     .causes = &causes_,
                                     .config_admin = &config_admin_,
                                     .audit = &audit_},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_ =
      std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
  Client client_{server_->port()};
};

TEST_F(AdminRequestsTest, WhatIsSaidOfAClusterIsShownWithIt) {
  const std::string key = ClusterKey();
  const std::string path = "/v1/admin/clusters/" + key;
  const std::string title = R"(<script>alert(1)</script>'; DROP TABLE reports; --)";
  EXPECT_EQ(Send("PATCH", path, Json{{"title", title}, {"link", "https://bugs.example/7"}}.dump()).status,
            200);
  EXPECT_EQ(Send("PATCH", path, R"({"state": "fixed", "fixed_in": "99.0"})").status, 200);
  const Json cluster = client_.Get("/v1/clusters/" + key).json();
  EXPECT_EQ(cluster["title"], title);
  EXPECT_EQ(cluster["link"], "https://bugs.example/7");
  EXPECT_EQ(cluster["state"], "fixed");
  EXPECT_EQ(cluster["fixed_in"], "99.0");
  EXPECT_EQ(client_.Get("/v1/clusters?state=all").json()[0]["title"], title);
  EXPECT_EQ(Send("PATCH", path, R"({"title": null})").json()["title"], Json());
}

TEST_F(AdminRequestsTest, ANewTitleDoesNotMoveWhenItWasCalledFixed) {
  const std::string path = "/v1/admin/clusters/" + ClusterKey();
  const auto changed_wall_ms = [&] { return collector_.store->Notes().value().at(0).changed_wall_ms; };
  Send("PATCH", path, R"({"state": "fixed"})");
  const int64_t fixed_wall_ms = changed_wall_ms();
  EXPECT_GT(fixed_wall_ms, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  Send("PATCH", path, R"({"title": "Slow lookup"})");
  EXPECT_EQ(changed_wall_ms(), fixed_wall_ms);
  Send("PATCH", path, R"({"state": "known"})");
  EXPECT_GT(changed_wall_ms(), fixed_wall_ms);
}

TEST_F(AdminRequestsTest, RefusesWhatCannotBeSaidOfAClusterAndChangesNothing) {
  const std::string path = "/v1/admin/clusters/" + ClusterKey();
  for (const char* body :
       {"", "[]", "{}", R"({"title": 7})", R"({"state": "great"})", R"x({"link": "javascript:alert(1)"})x",
        R"({"colour": "red"})", R"({"title": "x", "is_split": "yes"})"}) {
    EXPECT_EQ(Send("PATCH", path, body).status, 400) << body;
  }
  EXPECT_EQ(Send("PATCH", path, Json{{"title", std::string(501, 'x')}}.dump()).status, 400);
  EXPECT_EQ(Send("PATCH", "/v1/admin/clusters/none", R"({"title": "x"})").status, 404);
  EXPECT_EQ(collector_.store->Notes().value(), std::vector<ClusterNote>());
  client_.headers[0] = "Authorization: Bearer r_read";
  EXPECT_EQ(Send("PATCH", path, R"({"title": "x"})").status, 403);
}

TEST_F(AdminRequestsTest, TheConfigIsPutAndGoneBackTo) {
  Json config = Config();
  config.erase("settings");
  EXPECT_EQ(config, Json::parse(R"({"version": 0, "config": null, "history": []})"));
  const uint64_t first = Send("PUT", "/v1/admin/config", R"({"anr_threshold_ms": 6000})").json()["version"];
  const uint64_t second = Send("PUT", "/v1/admin/config", R"({"anr_threshold_ms": 7000})").json()["version"];
  EXPECT_GT(second, first);
  EXPECT_EQ(Config()["config"]["anr_threshold_ms"], 7000);
  const Answer back = Send("POST", "/v1/admin/config/rollback", Json{{"version", first}}.dump());
  ASSERT_EQ(back.status, 200) << back.text;
  EXPECT_GT(back.json()["version"], second);  // clients take no older one
  EXPECT_EQ(Config()["config"]["anr_threshold_ms"], 6000);
  EXPECT_THAT(Config()["history"], SizeIs(3));
  EXPECT_EQ(client_.Get("/v1/admin/config/" + std::to_string(second)).json()["config"],
            Json({{"anr_threshold_ms", 7000}}));
  EXPECT_EQ(client_.Get("/v1/admin/config/5").status, 404);
  EXPECT_EQ(client_.Get("/v1/admin/config/first").status, 404);
  EXPECT_EQ(Send("POST", "/v1/admin/config/rollback", R"({"version": 5})").status, 404);
  const Json audit = client_.Get("/v1/admin/audit").json();
  ASSERT_THAT(audit, SizeIs(3));
  EXPECT_EQ(audit[0]["action"], "config.rollback");
  EXPECT_EQ(audit[0]["by"], "given-1");
  EXPECT_EQ(audit[0]["details"]["to"], first);
  EXPECT_THAT(client_.Get("/v1/admin/audit?limit=1").json(), SizeIs(1));
}

TEST_F(AdminRequestsTest, ABadConfigChangesNothing) {
  Send("PUT", "/v1/admin/config", R"({"anr_threshold_ms": 6000})");
  const Answer refused = Send("PUT", "/v1/admin/config", R"({"anr_threshold_ms": "soon"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.text, HasSubstr("anr_threshold_ms"));
  EXPECT_EQ(Config()["config"]["anr_threshold_ms"], 6000);
  EXPECT_THAT(Config()["history"], SizeIs(1));
}

TEST_F(AdminRequestsTest, WhoKnowsAnOlderConfigIsToldSo) {
  const uint64_t version = Send("PUT", "/v1/admin/config", "{}").json()["version"];
  const std::string path = "/v1/admin/config?if_version=";
  EXPECT_EQ(Send("PUT", path + std::to_string(version), R"({"anr_threshold_ms": 6000})").status, 200);
  EXPECT_EQ(Send("PUT", path + std::to_string(version), R"({"anr_threshold_ms": 7000})").status, 409);
}

TEST_F(AdminRequestsTest, TheConfigTellsTheRangesOfItsNumbers) {
  const Json settings = Config()["settings"];
  ASSERT_THAT(settings, SizeIs(report::NumberKeys().size()));
  for (const Json& setting : settings) {
    const std::string name = setting["name"];
    const int64_t least = setting["least"], most = setting["most"];
    EXPECT_LT(least, most);
    EXPECT_EQ(Send("PUT", "/v1/admin/config", Json{{name, most}}.dump()).status, 200) << name;
    for (const int64_t number : {least - 1, most + 1})
      EXPECT_EQ(Send("PUT", "/v1/admin/config", Json{{name, number}}.dump()).status, 400) << name;
  }
}

TEST_F(AdminRequestsTest, AConfigThatWasEditedByHandIsKeptInTheHistory) {
  std::ofstream(directory_ / "config.json") << R"({"anr_threshold_ms": 6500})";
  const uint64_t by_hand = Config()["version"];
  Send("PUT", "/v1/admin/config", "{}");
  Send("POST", "/v1/admin/config/rollback", Json{{"version", by_hand}}.dump());
  EXPECT_EQ(Config()["config"]["anr_threshold_ms"], 6500);
}

TEST_F(AdminRequestsTest, UsersComeOntoTheAllowlistAndGo) {
  const std::string body = R"({"user": "j. doe <jd@example>"})";
  EXPECT_EQ(Send("POST", "/v1/admin/allowlist", body).status, 200);
  const uint64_t version = Config()["version"];
  EXPECT_EQ(Send("POST", "/v1/admin/allowlist", body).json()["version"], version);  // nothing to change
  EXPECT_EQ(Config()["config"]["allowlist"], Json::parse(R"(["j. doe <jd@example>"])"));
  auto signed_config =
      config_.Find({.app = "a", .app_version = "1", .user = "j. doe <jd@example>"}, "", 1'000).value();
  ASSERT_TRUE(signed_config.has_value());
  Send("POST", "/v1/admin/allowlist", R"({"user": "j. doe <jd@example>", "is_forced": false})");
  EXPECT_EQ(Config()["config"]["allowlist"], Json::array());
  EXPECT_EQ(Send("POST", "/v1/admin/allowlist", R"({"user": 7})").status, 400);
}

TEST_F(AdminRequestsTest, CapturesAreAskedForAndCalledOff) {
  EXPECT_EQ(Send("POST", "/v1/admin/capture-requests", R"({"cluster": "12ab", "interval_us": 5000})").status,
            200);
  EXPECT_EQ(Send("POST", "/v1/admin/capture-requests", R"({"cluster": "12ab", "interval_us": 9000})").status,
            200);
  EXPECT_EQ(Config()["config"]["capture_requests"],
            Json::parse(R"([{"cluster": "12ab", "interval_us": 9000}])"));
  EXPECT_EQ(Send("POST", "/v1/admin/capture-requests", R"({"cluster": "not hex"})").status, 400);
  EXPECT_EQ(Delete("/v1/admin/capture-requests/12ab").status, 200);
  EXPECT_EQ(Config()["config"]["capture_requests"], Json::array());
  EXPECT_EQ(Delete("/v1/admin/capture-requests/12ab").status, 404);
}

TEST_F(AdminRequestsTest, ProbesAreAskedForByProgramAndVersionAndCalledOff) {
  const std::string script(64, 'a');
  const auto ask = [&](const std::string& more) {
    return Send("POST", "/v1/admin/probe-requests", R"({"script": ")" + script + '"' + more + "}").status;
  };
  EXPECT_EQ(ask(R"(, "app": "shop", "duration_s": 5)"), 200);
  EXPECT_EQ(ask(R"(, "app": "shop", "duration_s": 9)"), 200);
  EXPECT_EQ(ask(R"(, "app": "bank")"), 200);
  // An object's keys are sorted.
  EXPECT_EQ(Config()["config"]["probe_requests"].dump(), R"([{"app":"shop","duration_s":9,"script":")" +
                                                             script + R"("},{"app":"bank","script":")" +
                                                             script + R"("}])");
  EXPECT_EQ(ask(R"(, "duration_s": 0)"), 400);
  EXPECT_EQ(ask(R"(, "duration_s": 3601)"), 400);
  EXPECT_EQ(ask(R"(, "user_share_ppm": 1000001)"), 400);
  EXPECT_EQ(ask(R"(, "text": "f { count }")"), 400);
  EXPECT_EQ(Send("POST", "/v1/admin/probe-requests", R"({"script": "AB"})").status, 400);
  EXPECT_EQ(Delete("/v1/admin/probe-requests/" + script).status, 200);
  EXPECT_EQ(Config()["config"]["probe_requests"], Json::array());
  EXPECT_EQ(Delete("/v1/admin/probe-requests/" + script).status, 404);
}

TEST_F(AdminRequestsTest, ACutOffLineOfTheAuditLogHidesNoOther) {
  audit_.Add("a", "first", "x");
  std::ofstream(directory_ / "audit.jsonl", std::ios::app) << R"({"wall_ms": 1, "by)";
  audit_.Add("a", "second", "x");
  const Json entries = audit_.Newest(10).value();
  ASSERT_THAT(entries, SizeIs(2));
  EXPECT_EQ(entries[0]["action"], "second");
  EXPECT_EQ(entries[1]["action"], "first");
}

}  // namespace
}  // namespace lagwatch::collector
