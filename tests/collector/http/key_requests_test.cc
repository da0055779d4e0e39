// SPDX-License-Identifier: Apache-2.0
// Keys over HTTP: access, quotas, and adding and revoking keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
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
using ::testing::Not;
using testing::SampleReport;

class KeyRequestsTest : public ::testing::Test {
 protected:
  long StatusOf(const std::string& key, const char* path = "/v1/clusters") {
    Client client(server_->port());
    client.headers = {"Authorization: Bearer " + key};
    return client.Get(path).status;
  }
  Answer Post(const std::string& key) {
    Client client(server_->port());
    client.headers[0] = "Authorization: Bearer " + key;
    return client.Post(EncodeBatch({SampleReport().Encode()}));
  }
  Answer AddKey(const std::string& body) {
    admin_.headers[1] = "Content-Type: application/json";
    return admin_.Perform("POST", "/v1/admin/keys", &body);
  }
  int64_t Now() const { return base::SystemClock().WallMs(); }

  testing::ScopedTempDirectory directory_;
  testing::MemoryCollector collector_;
  AuditLog audit_{directory_ / "audit.jsonl"};
  KeyFile file_{directory_ / "keys.json"};
  KeyRing keys_{{{kKey, Access::kAdmin}}, file_};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_,
                                     .key_file = &file_,
                                     .audit = &audit_},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_ =
      std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
  Client admin_{server_->port()};
};

TEST_F(KeyRequestsTest, AKeyIsMadeUsedAndRevoked) {
  Answer added = AddKey(R"({"name": "ci", "access": "read", "expires_in_s": 3600})");
  EXPECT_EQ(added.status, 201) << added.text;
  const std::string key = added.json()["key"];
  EXPECT_EQ(StatusOf(key), 200);
  EXPECT_EQ(StatusOf(key, "/v1/admin/keys"), 403);
  const std::string list = admin_.Get("/v1/admin/keys").text;
  EXPECT_THAT(list, HasSubstr(R"("name":"ci","access":"read")"));
  EXPECT_THAT(list, Not(HasSubstr("sha256")));
  EXPECT_EQ(admin_.Perform("DELETE", "/v1/admin/keys/ci", nullptr).status, 200);
  EXPECT_EQ(StatusOf(key), 401);
  EXPECT_EQ(admin_.Perform("DELETE", "/v1/admin/keys/ci", nullptr).status, 404);
}

TEST_F(KeyRequestsTest, AKeyIsToldWhatItMay) {
  for (const char* access : {"project", "read", "admin"}) {
    const std::string name = std::string("of-") + access;
    const Json made = AddKey(Json{{"name", name}, {"access", access}}.dump()).json();
    Client client(server_->port());
    client.headers = {"Authorization: Bearer " + made["key"].get<std::string>()};
    EXPECT_EQ(client.Get("/v1/key").json(), (Json{{"name", name}, {"access", access}}));
  }
  EXPECT_EQ(StatusOf("k_none", "/v1/key"), 401);
}

TEST_F(KeyRequestsTest, AReplacedKeyHoldsForAWhile) {
  const std::string old = AddKey(R"({"name": "a", "access": "project"})").json()["key"];
  const std::string next =
      AddKey(R"({"name": "b", "access": "project", "replaces": "a", "overlap_s": 60})").json()["key"];
  EXPECT_EQ(Post(old).status, 200);
  EXPECT_EQ(Post(next).status, 200);
  EXPECT_EQ(AddKey(R"({"name": "c", "access": "project", "replaces": "b", "overlap_s": 0})").status, 201);
  Answer refused = Post(next);
  EXPECT_EQ(refused.status, 401);
  EXPECT_THAT(refused.text, HasSubstr("has expired"));
}

TEST_F(KeyRequestsTest, WhatIsNoKeyIsNotMade) {
  for (const char* body : {"", "[]", "{", "{}", R"({"name": "a"})", R"({"name": "a", "access": "god"})",
                           R"({"name": 1, "access": "read"})", R"({"name": "../a", "access": "read"})",
                           R"({"name": "a", "access": "read", "expires_in_s": -1})",
                           R"({"name": "a", "access": "read", "overlap_s": "x"})",
                           R"({"name": "a", "access": "read", "reports_per_s": -1})",
                           R"({"name": "a", "access": "read", "bytes_per_day": -1})",
                           R"({"name": "a", "access": "read", "expires_in_s": 18446744073709551615})"}) {
    EXPECT_EQ(AddKey(body).status, 400) << body;
  }
  EXPECT_EQ(AddKey(std::string(5000, ' ')).status, 413);
  EXPECT_TRUE(file_.Read()->empty());
}

TEST_F(KeyRequestsTest, AQuotaSaysWhenToComeBack) {
  const std::string key =
      AddKey(R"({"name": "a", "access": "project", "reports_per_s": 0.01})").json()["key"];
  EXPECT_EQ(Post(key).status, 200);
  Answer refused = Post(key);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.json()["error"]["code"], "quota");
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 100\r\n"));

  const std::string daily =
      AddKey(R"({"name": "b", "access": "project", "bytes_per_day": 10})").json()["key"];
  EXPECT_EQ(Post(daily).status, 200);  // a day's quota may be overdrawn once
  EXPECT_THAT(Post(daily).text, HasSubstr("bytes"));
}

}  // namespace
}  // namespace lagwatch::collector
