// SPDX-License-Identifier: Apache-2.0
// Aggregates that are sent and written elsewhere, and the commands that scripts ask for.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "base/owned_fd.h"
#include "tests/testing/temp_directory.h"
#include "tests/tools/probe/probe_testing.h"
#include "tests/trace/export/decoded.h"

namespace lagwatch::tools {
namespace {

// Receives datagrams at a port of its own.
class StatsdServer {
 public:
  StatsdServer() : fd_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address_), size), 0);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
  }
  std::string place() const { return "127.0.0.1:" + std::to_string(ntohs(address_.sin_port)); }
  // All that has come so far.
  const std::string& Received() {
    char datagram[2048];
    for (ssize_t size = 0; (size = recv(fd_.get(), datagram, sizeof datagram, MSG_DONTWAIT)) > 0;)
      received_.append(datagram, static_cast<size_t>(size));
    return received_;
  }

 private:
  base::OwnedFd fd_;
  sockaddr_in address_{};
  std::string received_;
};

TEST_F(ProbeTest, SendsAggregatesByStatsd) {
  StatsdServer server;
  Probe("add_numbers { calls: count; total: sum(a) by b }", "add 4", {"--statsd", server.place()});
  EXPECT_TRUE(WaitUntil([&] { return server.Received().find("total") != std::string::npos; }));
  EXPECT_THAT(server.Received(), HasSubstr("lagwatch.calls:4|g\n"));
  EXPECT_THAT(server.Received(), HasSubstr("lagwatch.total.2:6|g\n"));
  EXPECT_EQ(Ask({pid(), "add_numbers { count }", "--statsd", "nowhere"}), 2);
  EXPECT_THAT(errors_, HasSubstr("--statsd: give HOST:PORT"));
}

TEST_F(ProbeTest, WritesAggregatesForPrometheus) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "probe.prom";
  Probe("add_numbers { calls: count }", "add 4", {"--prometheus", path});
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, ::testing::ContainsRegex("calls[^\n]* 4\n"));
}

// protoc reads it by Perfetto's schema.
TEST_F(ProbeTest, WritesATraceForPerfetto) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "probe.perfetto-trace";
  const std::string script =
      "sleep_ms @return { print(duration, arg0) } add_numbers { print(a); calls: count by b }";
  const auto console = Start({pid(), script, "--perfetto", path});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  Do("sleep 4");
  Do("add 3");
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0) << console->Errors();
  std::ifstream file(path);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto trace = testing::Decode(LAGWATCH_PERFETTO_SCHEMA, "perfetto.protos.Trace", bytes);
  std::map<uint64_t, std::string> tracks;
  std::map<std::string, std::vector<uint64_t>> times;  // of events and counters, by track and name
  std::vector<std::string> numbers;
  for (const auto* packet : trace.All("packet")) {
    const auto& track = (*packet)["track_descriptor"];
    if (track.Has("uuid"))
      tracks[track.Number("uuid")] = track.Has("thread")
                                         ? std::to_string(track["thread"].Number("tid"))
                                         : (track.Has("counter") ? "counter " : "") + track.Text("name");
    if (!packet->Has("track_event")) continue;
    const auto& event = (*packet)["track_event"];
    const std::string& of = tracks.at(event.Number("track_uuid"));
    times[of + " " + event["type"].value + " " + event.Text("name")].push_back(packet->Number("timestamp"));
    if (event.Has("counter_value")) numbers.push_back(event["counter_value"].value);
  }
  const auto& begins = times[pid() + " TYPE_SLICE_BEGIN sleep_ms"];
  const auto& ends = times[pid() + " TYPE_SLICE_END "];
  ASSERT_EQ(begins.size(), 4U) << console->Errors();
  ASSERT_EQ(ends.size(), 4U);
  EXPECT_GE(ends[1] - begins[1], 5'000'000U);
  EXPECT_GE(ends[3] - begins[3], 5'000'000U);
  EXPECT_GE(begins[1], ends[0]);
  EXPECT_EQ(times[pid() + " TYPE_INSTANT add_numbers"].size(), 3U);
  EXPECT_FALSE(times["counter calls 2 TYPE_COUNTER "].empty());
  EXPECT_EQ(numbers.back(), "3");
  EXPECT_EQ(Ask({pid(), "add_numbers { count }", "--perfetto", "/nowhere/trace"}), 2);
  EXPECT_THAT(errors_, HasSubstr("--perfetto: cannot write /nowhere/trace"));
}

// The console waits for the commands that it has started.
TEST_F(ProbeTest, DumpsTheProgramWhenAScriptAsksForIt) {
  const std::string output = Probe("add_numbers if a == 2 { dump }", "add 3");
  EXPECT_THAT(output, HasSubstr("probed_program")) << errors_;
  EXPECT_THAT(output, HasSubstr("main"));
}

TEST_F(ProbeTest, RecordsWhenAScriptAsksForIt) {
  const testing::ScopedTempDirectory directory;
  Process console({"/bin/sh", "-c",
                   "cd '" + directory.path() + "' && exec '" LAGWATCH_PROGRAM "' probe " + pid() +
                       " 'add_numbers { trace for 1s }'"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(console); })) << console.Errors();
  Do("add 1");
  EXPECT_TRUE(WaitUntil([&] { return !directory.Files().empty(); })) << console.Errors();
  console.Signal(SIGINT);
  EXPECT_EQ(console.Wait(), 0) << console.Errors();
  ASSERT_FALSE(directory.Files().empty()) << console.Output() << console.Errors();
  EXPECT_GT(std::filesystem::file_size(directory / directory.Files().front()), 0U);
}

TEST_F(ProbeTest, FindsFunctionsByTheirSourceFile) {
  const std::string output = Probe("add_* in *probed_program.cc { count by function }", "add 3", {"--json"});
  EXPECT_THAT(output, HasSubstr("add_numbers"));
  EXPECT_EQ(Ask({pid(), "add_* in nosuch.cc { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no function 'add_*'"));
}

TEST_F(ProbeTest, NamesTheCallersOfAFunctionThatIsInlined) {
  EXPECT_EQ(Ask({pid(), "twice_number { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("'twice_number' has no code of its own: the compiler has put it into "));
  EXPECT_THAT(errors_, HasSubstr("use_inlined; probe these"));
}

}  // namespace
}  // namespace lagwatch::tools
