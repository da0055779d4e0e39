// SPDX-License-Identifier: Apache-2.0
// Probes in programs of this machine, which have no debug information.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

class ProbedPrograms : public ProbeTest {
 protected:
  void SetUp() override {}
};

TEST_F(ProbedPrograms, CountCallsOfPython) {
  program_ = std::make_unique<Process>(
      std::vector<std::string>{"/usr/bin/python3", "-c",
                               "import os, sys\nprint('ready', flush=True)\nfor line in sys.stdin:\n  "
                               "[os.getppid() for _ in range(int(line))]\n"
                               "  print('done', flush=True)"});
  ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; })) << program_->Errors();
  EXPECT_THAT(Probe("libc!getppid { count }", "25"), ::testing::ContainsRegex("count\n +25"));
}

// A port that was free a moment ago.
int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

TEST_F(ProbedPrograms, CountCommandsOfRedis) {
  if (!std::filesystem::exists("/usr/bin/redis-server")) GTEST_SKIP() << "no redis-server";
  const int port = FreePort();
  program_ = std::make_unique<Process>(std::vector<std::string>{
      "/usr/bin/redis-server", "--port", std::to_string(port), "--save", "", "--appendonly", "no"});
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_TRUE(
      WaitUntil([&] { return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0; }));
  // Its allocator is not the C library's.
  const auto console =
      Start({pid(), "processCommand @return { count; max(duration) } alloc { allocations: count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  char answer[64];
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(send(fd, "PING\r\n", 6, 0), 6);
    ASSERT_GT(recv(fd, answer, sizeof answer, 0), 0);
  }
  close(fd);
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Output(), ::testing::ContainsRegex("count\n +20"));
  EXPECT_THAT(console->Output(), ::testing::ContainsRegex("allocations\n +[1-9]"));
  program_->Signal(SIGTERM);
  EXPECT_EQ(program_->Wait(), 0);
}

}  // namespace
}  // namespace lagwatch::tools
