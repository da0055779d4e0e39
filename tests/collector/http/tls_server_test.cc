// SPDX-License-Identifier: Apache-2.0
// The collector over TLS: the accepted clients, and the renewal of its certificate.
#include "tests/testing/tls_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "collector/http/endpoints.h"
#include "collector/http/server/http_server.h"
#include "report/upload/transport/http_client.h"
#include "report/upload/transport/http_transport.h"
#include "tests/collector/http/http_client.h"
#include "tests/collector/memory_collector.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using testing::Client;
using testing::EncodeBatch;
using ::testing::HasSubstr;
using testing::Identity;
using testing::kKey;
using testing::RawConnection;
using testing::SampleReport;

class TlsServerTest : public ::testing::Test {
 protected:
  TlsServerTest() {
    std::ofstream(directory_ / "ca.pem") << authority_.CertificatePem();
    Install(testing::MakeIdentity("IP:127.0.0.1", &authority_));
    auto server = HttpServer::Start({.listen = {"127.0.0.1", 0}, .threads = 2, .tls = files_}, &router_);
    EXPECT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
  }
  void Install(const Identity& identity) {
    std::ofstream(files_.certificate) << identity.CertificatePem();
    std::ofstream(files_.key) << identity.KeyPem();
  }
  std::unique_ptr<Client> MakeClient() {
    auto client = std::make_unique<Client>(server_->port(), "https");
    client->ca_file = directory_ / "ca.pem";
    return client;
  }
  // The newest version that the server and a client of at most `newest` agree on; 0 when they do not.
  int VersionWith(int newest) {
    testing::OpenSslPointer<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_security_level(context.get(), 0);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context.get(), newest);
    RawConnection connection(server_->port());
    testing::OpenSslPointer<SSL> tls(SSL_new(context.get()));
    SSL_set_fd(tls.get(), connection.fd());
    return SSL_connect(tls.get()) == 1 ? SSL_version(tls.get()) : 0;
  }

  testing::ScopedTempDirectory directory_;
  const Identity authority_ = testing::MakeIdentity("", nullptr);
  const TlsFiles files_{directory_ / "cert.pem", directory_ / "key.pem"};
  testing::MemoryCollector collector_;
  KeyRing keys_{{{kKey, Access::kAdmin}}};
  Router router_{CollectorEndpoints({.ingest = &collector_.ingest,
                                     .commits = &collector_.commits,
                                     .query_api = &collector_.query_api,
                                     .keys = &keys_},
                                    {}),
                 &keys_};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(TlsServerTest, TakesReportsAndShowsThem) {
  auto client = MakeClient();
  EXPECT_EQ(client->PostGzip(EncodeBatch({SampleReport().Encode()})).status, 200);
  testing::Answer answer = client->Get("/v1/clusters");
  EXPECT_EQ(answer.json()[0]["frames"][0], "Leaf");
  EXPECT_EQ(answer.new_connections, 0);
  EXPECT_THAT(answer.head, HasSubstr("Strict-Transport-Security: max-age=31536000"));
  client->headers.clear();
  EXPECT_EQ(client->Get("/v1/clusters").status, 401);
}

TEST_F(TlsServerTest, TakesWhatTheSdkSends) {
  auto http = report::HttpClient::Create({.endpoint = "https://127.0.0.1:" + std::to_string(server_->port()),
                                          .key = kKey,
                                          .ca_file = directory_ / "ca.pem"});
  ASSERT_TRUE(http.ok()) << http.status().message();
  auto transport = report::CreateHttpTransport(std::shared_ptr<report::HttpClient>(std::move(*http)));
  const report::UploadAnswer answer =
      transport->Post(testing::GzipText(EncodeBatch({SampleReport().Encode()})));
  EXPECT_EQ(answer.kind, report::UploadAnswer::Kind::kDelivered) << answer.message;
  EXPECT_EQ(collector_.Get("/v1/reports").size(), 1u);
}

TEST_F(TlsServerTest, SpeaksNothingOld) {
  EXPECT_EQ(VersionWith(TLS1_3_VERSION), TLS1_3_VERSION);
  EXPECT_EQ(VersionWith(TLS1_2_VERSION), TLS1_2_VERSION);
  EXPECT_EQ(VersionWith(TLS1_1_VERSION), 0);
}

TEST_F(TlsServerTest, HangsUpOnPlainHttp) {
  RawConnection connection(server_->port());
  connection.Send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(connection.ReceiveAll(), ::testing::Not(HasSubstr("HTTP/1.1")));
}

TEST_F(TlsServerTest, ShowsANewCertificateToNewConnections) {
  auto old_client = MakeClient();
  EXPECT_EQ(old_client->Get("/healthz").status, 200);
  const Identity other = testing::MakeIdentity("", nullptr);
  Install(testing::MakeIdentity("IP:127.0.0.1", &other));
  ASSERT_TRUE(server_->ReloadCertificate().ok());
  std::ofstream(directory_ / "ca.pem") << other.CertificatePem();
  EXPECT_EQ(MakeClient()->Get("/healthz").status, 200);

  std::ofstream(files_.key) << "no key";
  EXPECT_THAT(server_->ReloadCertificate().message(), HasSubstr(files_.key));
  EXPECT_EQ(MakeClient()->Get("/healthz").status, 200);
}

TEST_F(TlsServerTest, DoesNotStartWithACertificateThatIsNone) {
  Install(testing::MakeIdentity("IP:127.0.0.1", &authority_));
  std::ofstream(files_.key) << testing::MakeIdentity("IP:127.0.0.1", &authority_).KeyPem();
  auto server = HttpServer::Start({.listen = {"127.0.0.1", 0}, .tls = files_}, &router_);
  EXPECT_EQ(server.status().code(), base::StatusCode::kInvalid);
}

TEST_F(TlsServerTest, RefusesABodyOverTheLimitSoThatTheClientHearsOfIt) {
  auto client = MakeClient();
  client->headers.push_back("Expect:");
  EXPECT_EQ(client->Post(std::string(4 << 20, 'x')).status, 413);
}

}  // namespace
}  // namespace lagwatch::collector
