// SPDX-License-Identifier: Apache-2.0
// Against real TLS servers: which are trusted, and which get no byte of a report.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "report/upload/transport/gzip.h"
#include "report/upload/transport/http_transport.h"
#include "tests/report/report_testing.h"
#include "tests/testing/process.h"
#include "tests/testing/tls_server.h"

namespace lagwatch::report {
namespace {

using lagwatch::testing::Identity;
using lagwatch::testing::MakeIdentity;
using lagwatch::testing::TlsServer;
using ::testing::HasSubstr;
using AnswerKind = UploadAnswer::Kind;

constexpr char kAnswer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 47\r\n\r\n"
    "{\"accepted\": 1, \"duplicates\": 0, \"rejected\": 0}";

class HttpTlsTest : public ::testing::Test {
 protected:
  UploadAnswer Post(const std::string& endpoint, const std::string& ca_file) {
    auto client = HttpClient::Create({.endpoint = endpoint, .key = "k_secret", .ca_file = ca_file});
    EXPECT_TRUE(client.ok());
    return CreateHttpTransport(std::move(*client))->Post(Gzip("body"));
  }
  std::string FileWith(const std::string& name, const std::string& content) {
    lagwatch::testing::WriteFile(directory_ / name, content);
    return directory_ / name;
  }
  std::string AuthorityFile() { return FileWith("ca.pem", authority_.CertificatePem()); }
  void ExpectRefused(const Identity& identity, const std::string& ca_file,
                     int newest_version = TLS1_3_VERSION) {
    TlsServer server(identity, kAnswer, newest_version);
    const UploadAnswer answer = Post(server.endpoint(), ca_file);
    EXPECT_EQ(answer.kind, AnswerKind::kTryLater);
    EXPECT_EQ(answer.http_status, 0) << answer.message;
    EXPECT_FALSE(answer.message.empty());
    EXPECT_EQ(server.Stop(), "");
  }

  lagwatch::testing::ScopedTempDirectory directory_;
  Identity authority_ = MakeIdentity("", nullptr);
};

TEST_F(HttpTlsTest, APinnedAuthoritysServerIsTrusted) {
  TlsServer server(MakeIdentity("IP:127.0.0.1", &authority_), kAnswer);
  UploadAnswer answer = Post(server.endpoint(), AuthorityFile());
  EXPECT_EQ(answer.kind, AnswerKind::kDelivered) << answer.message;
}

TEST_F(HttpTlsTest, AnotherAuthoritysServerGetsNothing) {
  const Identity other = MakeIdentity("", nullptr);
  ExpectRefused(MakeIdentity("IP:127.0.0.1", &other), AuthorityFile());
}

TEST_F(HttpTlsTest, WithoutAPinTheSystemsStoreDecides) {
  ExpectRefused(MakeIdentity("IP:127.0.0.1", &authority_), "");
}

TEST_F(HttpTlsTest, AnExpiredCertificateIsNone) {
  ExpectRefused(MakeIdentity("IP:127.0.0.1", &authority_, -60), AuthorityFile());
}

TEST_F(HttpTlsTest, ACertificateForAnotherNameIsNone) {
  ExpectRefused(MakeIdentity("DNS:lag.example.com,IP:127.0.0.2", &authority_), AuthorityFile());
}

TEST_F(HttpTlsTest, OldTlsIsNotSpoken) {
  ExpectRefused(MakeIdentity("IP:127.0.0.1", &authority_), AuthorityFile(), TLS1_1_VERSION);
}

TEST_F(HttpTlsTest, AMissingPinFileTrustsNobody) {
  ExpectRefused(MakeIdentity("IP:127.0.0.1", &authority_), directory_ / "nothing.pem");
}

// Needs Node.js, which has a server for it.
TEST_F(HttpTlsTest, SpeaksHttp2WithWhoCan) {
  if (access("/usr/bin/node", X_OK) != 0) GTEST_SKIP() << "there is no /usr/bin/node";
  const Identity identity = MakeIdentity("IP:127.0.0.1", &authority_);
  const std::string script = R"(
    const fs = require('fs');
    const server = require('http2').createSecureServer(
        {key: fs.readFileSync(process.argv[1]), cert: fs.readFileSync(process.argv[2])}, (request, response) => {
      request.resume();
      request.on('end', () => {
        const is_http2 = request.httpVersion === '2.0';
        response.writeHead(is_http2 ? 200 : 505, {'content-type': 'application/json'});
        response.end('{"accepted": 1, "duplicates": 0, "rejected": 0, "config_version": 2}');
      });
    });
    server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}.`)))";
  lagwatch::testing::Process node({"/usr/bin/node", "-e", script + ";",
                                   FileWith("key.pem", identity.KeyPem()),
                                   FileWith("cert.pem", identity.CertificatePem())});
  ASSERT_TRUE(lagwatch::testing::WaitUntil([&] { return node.Output().ends_with(".\n"); })) << node.Errors();
  const std::string output = node.Output();
  const std::string port = output.substr(5, output.size() - 7);
  UploadAnswer answer = Post("https://127.0.0.1:" + port, AuthorityFile());
  EXPECT_EQ(answer.kind, AnswerKind::kDelivered) << answer.message;
  EXPECT_EQ(answer.config_version, 2u);
}

}  // namespace
}  // namespace lagwatch::report
