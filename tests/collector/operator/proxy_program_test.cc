// SPDX-License-Identifier: Apache-2.0
// The program behind proxies: nginx with the file that docs/operations.md names, and the PROXY protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "base/clock.h"
#include "collector/http/proxies/proxy_header.h"
#include "collector/http/proxies/trusted_proxies.h"
#include "tests/collector/operator/running_collector.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::collector {
namespace {

namespace ip = boost::asio::ip;

using testing::Answer;
using testing::Client;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using testing::RawConnection;
using testing::SampleReport;

TrustedProxies Trusted(const std::vector<std::string>& texts) { return TrustedProxies::Parse(texts).value(); }

TEST(TrustedProxies, KnowAddressesAndNetworks) {
  const TrustedProxies proxies = Trusted({"127.0.0.1", "10.1.0.0/15", "2001:db8::/32"});
  for (const char* in : {"127.0.0.1", "10.0.255.255", "10.1.2.3", "2001:db8:1::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(proxies.Contains(ip::make_address(in))) << in;
  for (const char* out : {"127.0.0.2", "10.2.0.0", "2001:db9::1", "::1", "0.0.0.0"})
    EXPECT_FALSE(proxies.Contains(ip::make_address(out))) << out;
  for (const char* wrong : {"", "localhost", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "::/129", "1.2.3"})
    EXPECT_FALSE(TrustedProxies::Parse({wrong}).ok()) << wrong;
  EXPECT_TRUE(Trusted({"0.0.0.0/0"}).Contains(ip::make_address("192.0.2.1")));
  EXPECT_FALSE(Trusted({"0.0.0.0/0"}).Contains(ip::make_address("2001:db8::1")));
}

TEST(TrustedProxies, NameTheRightmostAddressThatIsNotTheirOwn) {
  const struct {
    const char* from;
    const char* forwarded_for;
    const char* forwarded;
    const char* client;
  } cases[] = {
      {"127.0.0.1", "192.0.2.7", "", "192.0.2.7"},
      {"127.0.0.1", "", "", "127.0.0.1"},
      {"127.0.0.1", "203.0.113.9, 192.0.2.7", "", "192.0.2.7"},         // the left one is the client's word
      {"127.0.0.1", "192.0.2.7, 10.1.2.3,127.0.0.1", "", "192.0.2.7"},  // two of ours
      {"127.0.0.1", "192.0.2.7, unknown", "", "127.0.0.1"},             // hidden by another proxy
      {"127.0.0.1", "192.0.2.7,", "", "127.0.0.1"},
      {"127.0.0.1", "10.1.2.3", "", "10.1.2.3"},                         // a proxy's own request
      {"192.0.2.66", "198.51.100.1", "for=198.51.100.1", "192.0.2.66"},  // not a trusted one
      {"127.0.0.1", "192.0.2.7:4711", "", "192.0.2.7"},
      {"127.0.0.1", "2001:db8::7", "", "2001:db8::7"},
      {"127.0.0.1", "", "for=192.0.2.7;proto=https;by=10.1.2.3", "192.0.2.7"},
      {"127.0.0.1", "", "proto=http; For=\"[2001:db8::7]:80\"", "2001:db8::7"},
      {"127.0.0.1", "", "for=203.0.113.9, for=192.0.2.7", "192.0.2.7"},
      {"127.0.0.1", "", "for=_hidden", "127.0.0.1"},
      {"127.0.0.1", "192.0.2.7", "for=192.0.2.7", "192.0.2.7"},
      {"127.0.0.1", "192.0.2.7", "for=203.0.113.9", "127.0.0.1"},  // one of them is the client's word
  };
  const TrustedProxies proxies = Trusted({"127.0.0.1", "10.0.0.0/8"});
  for (const auto& each : cases) {
    EXPECT_EQ(ClientAddress(proxies, ip::make_address(each.from), each.forwarded_for, each.forwarded),
              ip::make_address(each.client))
        << each.forwarded_for << " | " << each.forwarded;
  }
}

std::string SecondVersion(char command, const std::string& addresses, char family) {
  return std::string("\r\n\r\n\0\r\nQUIT\n", 12) + command + family + '\0' +
         static_cast<char>(addresses.size()) + addresses;
}

TEST(ProxyHeader, IsReadToItsLastByteAndNotFurther) {
  const std::string v4 = SecondVersion('\x21', std::string("\xc0\0\2\7\x0a\0\0\1\0\1\0\2", 12), '\x11');
  const struct {
    std::string header;
    std::optional<std::string> client;
  } good[] = {
      {"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n", "192.0.2.7"},
      {"PROXY TCP6 2001:db8::7 ::1 1 2\r\n", "2001:db8::7"},
      {"PROXY UNKNOWN 1 2 3\r\n", std::nullopt},
      {"PROXY UNKNOWN\r\n", std::nullopt},
      {v4, "192.0.2.7"},
      {SecondVersion('\x21', std::string(36, '\1'), '\x21'), "101:101:101:101:101:101:101:101"},
      {SecondVersion('\x20', "", '\0'), std::nullopt},  // the proxy's own
  };
  for (const auto& each : good) {
    const std::string all = each.header + "GET / HTTP/1.1\r\n\r\n";
    std::string read = all.substr(0, kProxyHeaderStart);
    for (;;) {
      const auto missing = ProxyHeaderMissing(read);
      ASSERT_TRUE(missing) << each.header;
      if (*missing == 0) break;
      read = all.substr(0, read.size() + *missing);
    }
    EXPECT_EQ(read, each.header);
    const auto client = ProxyHeaderClient(read);
    EXPECT_EQ(client ? std::optional(client->to_string()) : std::nullopt, each.client);
  }
  for (const std::string& wrong :
       {std::string("GET /healthz HTTP/1.1\r\n"), "PROXY " + std::string(200, 'x'),
        std::string("PROXY TCP4 1.2.3.4\nGET"), std::string("\r\n\r\n\0\r\nQUIT\n\x11\x11\0\0", 16),
        std::string("\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff", 16)})
    EXPECT_FALSE(ProxyHeaderMissing(wrong)) << wrong;
}

class ProxiedCollector : public testing::RunningCollector {
 protected:
  static uint16_t FreePort() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    close(fd);
    return ntohs(address.sin_port);
  }

  void StartNginx() {
    const std::string prefix = directory_ / "nginx";
    std::filesystem::create_directories(prefix);
    nginx_port_ = FreePort();
    std::ofstream(prefix + "/nginx.conf")
        << "user root;\ndaemon off;\npid " << prefix << "/pid;\nerror_log stderr;\nevents {}\nhttp {\n"
        << "  access_log off;\n  client_body_temp_path " << prefix << "/body;\n  proxy_temp_path " << prefix
        << "/proxy;\n  fastcgi_temp_path " << prefix << "/f;\n  uwsgi_temp_path " << prefix
        << "/u;\n  scgi_temp_path " << prefix << "/s;\n"
        << "  upstream lagwatch { server 127.0.0.1:" << port_ << "; keepalive 16; }\n"
        << "  server {\n    listen 127.0.0.1:" << nginx_port_
        << ";\n    include " LAGWATCH_NGINX_CONF ";\n  }\n}\n";
    nginx_ = std::make_unique<Process>(
        std::vector<std::string>{LAGWATCH_NGINX, "-p", prefix, "-e", "stderr", "-c", prefix + "/nginx.conf"});
    ASSERT_TRUE(testing::WaitUntil([&] {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(nginx_port_);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      const bool is_there = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
      close(fd);
      return is_there;
    })) << nginx_->Errors();
  }
  void StopNginx() {
    nginx_->Signal(SIGTERM);
    EXPECT_EQ(nginx_->Wait(), 0) << nginx_->Errors();
  }
  // Waits for a line of the log.
  bool HasLogged(const std::string& text) const {
    return testing::WaitUntil([&] { return collector_->Errors().find(text) != std::string::npos; }, 5);
  }
  static std::string Request(const std::string& path, const std::string& more = {}) {
    return "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + more + "\r\n";
  }

  std::unique_ptr<Process> nginx_;
  uint16_t nginx_port_ = 0;
};

TEST_F(ProxiedCollector, NginxServesThePageBelowAPath) {
  Start({"--trusted-proxy", "127.0.0.1"});
  StartNginx();
  Client client(nginx_port_);
  EXPECT_EQ(client.Get("/lagwatch").status, 308);
  for (const auto& [address, step] : {std::pair("/lagwatch/", "./"),
                                      {"/lagwatch/live", "./"},
                                      {"/lagwatch/causes/0123456789abcdef", "../"}}) {
    const Answer page = client.Get(address);
    if (page.text.find("built without its page") != std::string::npos) GTEST_SKIP() << page.text;
    ASSERT_EQ(page.status, 200) << address;
    EXPECT_THAT(page.text, Not(HasSubstr("=\"/")));  // no absolute address
    std::smatch script;
    ASSERT_TRUE(std::regex_search(page.text, script, std::regex("src=\"([./]+)(assets/[^\"]+)\"")));
    EXPECT_EQ(script[1], step);
    EXPECT_EQ(client.Get("/lagwatch/" + script[2].str()).status, 200);
  }
  StopNginx();
}

TEST_F(ProxiedCollector, NginxPassesLargeBodiesAndEventsAtOnce) {
  Start({"--trusted-proxy", "127.0.0.1"});
  StartNginx();
  RawConnection events(nginx_port_);
  events.Send(Request("/lagwatch/v1/events", "Authorization: Bearer a_test\r\n"));
  EXPECT_THAT(events.ReadUntil("\r\n\r\n"), HasSubstr("200 OK"));
  // Larger together than the 1 MiB that nginx takes by itself.
  const std::string tag(900, 't');
  SampleReport report;
  report.header.tag = tag;
  report.header.start_wall_ms = static_cast<uint64_t>(base::SystemClock().WallMs());
  std::vector<std::string> reports;
  for (int i = 0; i < 1400; ++i) {
    report.header.id = report.header.hang_id = base::CreateUuidV7(base::SystemClock().WallMs());
    reports.push_back(report.Encode());
  }
  Client client(nginx_port_);
  const std::string batch = testing::EncodeBatch(reports);
  ASSERT_GT(batch.size(), size_t{3} << 19);
  const Answer uploaded = client.Perform("POST", "/lagwatch/v1/reports", &batch);
  EXPECT_EQ(uploaded.status, 200) << uploaded.text;
  EXPECT_EQ(uploaded.json()["accepted"], 1400);
  std::string received;
  EXPECT_TRUE(testing::WaitUntil(
      [&] {
        received += events.ReceiveReady();
        return received.find(base::ToString(report.header.id)) != std::string::npos;
      },
      5))
      << received;
  StopNginx();
}

TEST_F(ProxiedCollector, ClientsOfNginxHaveTheirOwnAddresses) {
  Start({"--trusted-proxy", "127.0.0.1", "--max-connections-per-peer", "2"});
  StartNginx();
  // More connections at the same time than one address may have.
  std::vector<RawConnection> clients;
  for (uint8_t i = 0; i < 6; ++i) clients.emplace_back(nginx_port_, static_cast<uint8_t>(11 + i));
  for (RawConnection& client : clients)
    client.Send(Request("/lagwatch/v1/reports", "X-Forwarded-For: 203.0.113.9\r\n"));
  for (RawConnection& client : clients) EXPECT_THAT(client.ReceiveAll(), HasSubstr("401"));
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(HasLogged("from 127.0.0." + std::to_string(11 + i)));
  EXPECT_THAT(collector_->Errors(), Not(HasSubstr("203.0.113.9")));
  // Without a proxy, the header is nothing but the client's word.
  RawConnection direct(port_, 33);
  direct.Send(Request("/v1/reports", "X-Forwarded-For: 203.0.113.9\r\n"));
  EXPECT_THAT(direct.ReceiveAll(), HasSubstr("401"));
  EXPECT_TRUE(HasLogged("from 127.0.0.33"));
  StopNginx();
}

TEST_F(ProxiedCollector, TakesTheProxyProtocolFromTrustedProxiesAlone) {
  Start({"--trusted-proxy", "127.0.0.1", "--proxy-protocol"});
  const std::string v2 = SecondVersion('\x21', std::string("\xc6\x33\x64\7\x0a\0\0\1\0\1\0\2", 12), '\x11');
  for (const auto& [header, client] :
       {std::pair<std::string, const char*>("PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n", "from 192.0.2.7"),
        {v2, "from 198.51.100.7"}}) {
    RawConnection connection(port_);
    connection.Send(header + Request("/v1/reports", "X-Forwarded-For: 203.0.113.9\r\n"));
    EXPECT_THAT(connection.ReceiveAll(), HasSubstr("401"));
    EXPECT_TRUE(HasLogged(client)) << collector_->Errors();
  }
  RawConnection without(port_);
  without.Send(Request("/healthz"));
  EXPECT_EQ(without.ReceiveAll(), "");
  EXPECT_TRUE(HasLogged("does not begin with a header of the PROXY protocol"));
  RawConnection direct(port_, 33);
  direct.Send(Request("/healthz"));
  EXPECT_THAT(direct.ReceiveAll(), HasSubstr("200 OK"));
  EXPECT_THAT(collector_->Errors(), Not(HasSubstr("203.0.113.9")));
  Process curl(
      {"curl", "-s", "--haproxy-protocol", "http://127.0.0.1:" + std::to_string(port_) + "/healthz"});
  EXPECT_EQ(curl.Wait(), 0);
  EXPECT_THAT(curl.Output(), HasSubstr("ok"));
}

TEST_F(ProxiedCollector, RefusesOptionsThatAreWrong) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--trusted-proxy", "localhost"}, {"--proxy-protocol"}}) {
    std::vector<std::string> arguments = {LAGWATCH_COLLECTOR_PROGRAM, "--data", data_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    Process collector(std::move(arguments));
    EXPECT_EQ(collector.Wait(), 2);
    EXPECT_THAT(collector.Errors(), HasSubstr("--trusted-proxy"));
  }
}

}  // namespace
}  // namespace lagwatch::collector
