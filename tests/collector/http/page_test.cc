// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "tests/collector/http/gzip_text.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;

class PageTest : public ::testing::Test {
 protected:
  testing::Answer Get(const std::string& path,
                      const std::vector<std::string>& headers = {"Accept-Encoding: gzip, br"}) {
    testing::Client client(server_->port());
    client.headers = headers;
    return client.Get(path);
  }

  const std::string index_ = testing::GzipText("<title>lagwatch</title>");
  const std::string below_ = testing::GzipText("<title>lagwatch</title><p>");
  const std::string script_ = testing::GzipText("let a = 1;");
  const std::vector<PageFile> files_{{"/assets/a-1.js", "text/javascript; charset=utf-8", script_, "\"s\""},
                                     {"/below/index.html", "text/html; charset=utf-8", below_, "\"b\""},
                                     {"/index.html", "text/html; charset=utf-8", index_, "\"i\""}};
  testing::MemoryCollector collector_;
  KeyRing keys_{{{testing::kKey, Access::kAdmin}}};
  Services services_{.ingest = &collector_.ingest,
                     .commits = &collector_.commits,
                     .query_api = &collector_.query_api,
                     .keys = &keys_,
                     .page = files_};
  Router router_{CollectorEndpoints(services_, {}), &keys_};
  std::unique_ptr<HttpServer> server_ =
      std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router_).value());
};

TEST_F(PageTest, IsTheSameAtEachOfItsAddressesWithoutAKey) {
  for (const char* path : {"/", "/?q=a", "/hang-rate", "/live", "/settings", "/connect", "/glossary"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
    EXPECT_EQ(Get(path).text, index_) << path;
  }
  for (const char* path : {"/causes/0123456789abcdef", "/reports/01932d5c"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
    EXPECT_EQ(Get(path).text, below_) << path;
  }
  for (const char* path :
       {"/index.html", "/below/index.html", "/assets/", "/assets/%2e%2e/index.html", "/causes/", "/nothing"})
    EXPECT_EQ(Get(path).status, 404) << path;
}

TEST_F(PageTest, ComesWithItsPolicy) {
  const std::string head = Get("/").head;
  EXPECT_THAT(head, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'self';"));
  EXPECT_THAT(head, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(head, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(head, HasSubstr("Referrer-Policy: no-referrer"));
  EXPECT_THAT(Get("/healthz").head, Not(HasSubstr("Content-Security-Policy")));
}

TEST_F(PageTest, IsKeptByBrowsersForAsLongAsItIsTheSame) {
  EXPECT_THAT(Get("/assets/a-1.js").head, HasSubstr("Cache-Control: public, max-age=31536000, immutable"));
  const std::string head = Get("/").head;
  EXPECT_THAT(head, HasSubstr("Cache-Control: no-cache"));
  EXPECT_THAT(head, HasSubstr("ETag: \"i\""));
  const testing::Answer again = Get("/", {"Accept-Encoding: gzip", "If-None-Match: \"i\""});
  EXPECT_EQ(again.status, 304);
  EXPECT_EQ(again.text, "");
}

TEST_F(PageTest, IsInflatedForWhoTakesNoGzip) {
  EXPECT_THAT(Get("/assets/a-1.js").head, HasSubstr("Content-Encoding: gzip"));
  const testing::Answer plain = Get("/assets/a-1.js", {});
  EXPECT_THAT(plain.head, Not(HasSubstr("Content-Encoding")));
  EXPECT_EQ(plain.text, "let a = 1;");
}

TEST_F(PageTest, SaysThatThereIsNone) {
  services_.page = {};
  const Router router(CollectorEndpoints(services_, {}), &keys_);
  server_ = std::move(HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 1}, &router).value());
  const testing::Answer answer = Get("/");
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.text, HasSubstr("built without its page"));
  server_->Stop();
}

}  // namespace
}  // namespace lagwatch::collector
