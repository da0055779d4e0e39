// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "report/config/signed_document.h"
#include "report/upload/transport/http_transport.h"
#include "tests/testing/configured_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::report {
namespace {

using ConfigKind = ConfigAnswer::AnswerKind;

class HttpConfigSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<ConfigSource> Open(const std::string& endpoint, const std::string& key = "k_test") const {
    return CreateHttpConfigSource(HttpClient::Create({.endpoint = endpoint, .key = key}).value(),
                                  {"an editor", "jane&bob"}, "2.1");
  }

  lagwatch::testing::ScopedTempDirectory directory_;
  lagwatch::testing::ConfiguredCollector collector_{directory_ / "data"};
};

TEST_F(HttpConfigSourceTest, BringsTheDocumentOnceAndThenThatItIsTheSame) {
  collector_.Configure(R"({"allowlist": ["jane&bob"]})");
  collector_.Start();
  auto source = Open(collector_.endpoint() + "/");
  const ConfigAnswer first = source->Fetch("");
  ASSERT_EQ(first.kind, ConfigKind::kDocument);
  auto text = OpenSigned(first.envelope, ParsePublicKey(collector_.config_key()).value());
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("jane&bob"), std::string::npos) << *text;
  EXPECT_NE(text->find("is_forced"), std::string::npos) << *text;
  ASSERT_NE(first.etag, "");
  EXPECT_EQ(source->Fetch(first.etag).kind, ConfigKind::kNotModified);
  collector_.Configure("{}");
  const ConfigAnswer changed = source->Fetch(first.etag);
  EXPECT_EQ(changed.kind, ConfigKind::kDocument);
  EXPECT_NE(changed.etag, first.etag);
}

TEST_F(HttpConfigSourceTest, TellsNoConfigFromAFailure) {
  collector_.Start();
  EXPECT_EQ(Open(collector_.endpoint())->Fetch("").kind, ConfigKind::kNone);
  EXPECT_EQ(Open(collector_.endpoint(), "k_wrong")->Fetch("").kind, ConfigKind::kFailed);
  collector_.Kill();
  EXPECT_EQ(Open(collector_.endpoint())->Fetch("").kind, ConfigKind::kFailed);
}

TEST_F(HttpConfigSourceTest, IsAbortedWhileItWaits) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  auto source = Open("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  std::atomic<bool> has_ended{false};
  std::thread fetching([&] {
    EXPECT_EQ(source->Fetch("").kind, ConfigKind::kFailed);
    has_ended = true;
  });
  // It is connected, and will wait for 30 s.
  const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  EXPECT_FALSE(has_ended);
  source->Abort();
  EXPECT_TRUE(lagwatch::testing::WaitUntil([&] { return has_ended.load(); }, 25));
  fetching.join();
  EXPECT_EQ(source->Fetch("").kind, ConfigKind::kFailed);
  close(connection);
  close(listener);
}

}  // namespace
}  // namespace lagwatch::report
