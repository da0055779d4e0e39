// SPDX-License-Identifier: Apache-2.0
// Waits for the answers of D-Bus services.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using testing::WaitUntil;

struct Call {
  std::string library;
  bool is_attached = false;  // else it is watched from its start
};

class BusTest : public RunTest, public ::testing::WithParamInterface<Call> {
 protected:
  std::unique_ptr<Process> Start(const std::vector<std::string>& environment) {
    std::vector<std::string> program = {"/usr/bin/python3", LAGWATCH_BUS_PROGRAM, GetParam().library};
    if (!GetParam().is_attached) return std::make_unique<Process>(Watched(program), environment);
    program.push_back("later");
    auto started = std::make_unique<Process>(program, environment);
    EXPECT_TRUE(WaitUntil([&] { return started->Output() == "ready\n"; })) << started->Errors();
    Process attach({LAGWATCH_PROGRAM, "attach", std::to_string(started->pid()), "--threshold-ms", "200",
                    "--spool", spool_});
    EXPECT_EQ(attach.Wait(), 0) << attach.Errors();
    started->WriteInput("call\n");
    return started;
  }
  // Of the reports of that process.
  std::string SessionOf(pid_t pid) {
    for (const json& header : Ask({"reports"}))
      if (header.at("pid") == pid) return header.at("session_id");
    return "no report";
  }
};

TEST_P(BusTest, NamesTheServiceThatDoesNotAnswerAndTheLockThatItWaitsFor) {
  const std::string file = directory_ / "file";
  // Sockets of both kinds: with a file, and with a name only.
  const std::string kind = GetParam().library == "gdbus" ? "unix:path=" : "unix:abstract=";
  const std::string address = kind + (directory_ / "bus");
  Process bus({"/usr/bin/dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address",
               "--address=" + address});
  ASSERT_TRUE(WaitUntil([&] { return bus.Output().starts_with(address); })) << bus.Errors();
  const std::vector<std::string> environment = {"DBUS_SESSION_BUS_ADDRESS=" + address};
  const int held = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  // Reports its own hang, too.
  Process service(Watched({"/usr/bin/python3", LAGWATCH_BUS_SERVICE, file}), environment);
  ASSERT_TRUE(WaitUntil([&] { return service.Output() == "ready\n"; })) << service.Errors();

  const std::unique_ptr<Process> program = Start(environment);
  json found;
  ASSERT_TRUE(WaitUntil([&] {
    Process list({LAGWATCH_PROGRAM, "reports", "--spool", spool_, "--json"});
    if (list.Wait() != 0) return false;  // there is no spool yet
    for (const json& header : json::parse(list.Output())) {
      if (header.at("pid") != program->pid()) continue;
      found = Ask({"report", header.at("id")});
      if (found.at("waits").size() >= 2) return true;
    }
    return false;
  })) << found.dump(1);
  close(held);
  ASSERT_EQ(program->Wait(), 0) << program->Errors();

  const json& call = found["waits"][0];
  EXPECT_EQ(call["kind"], "bus-call");
  EXPECT_EQ(call["owner"]["process"]["pid"], service.pid());
  EXPECT_EQ(call["owner"]["tid"], service.pid());
  EXPECT_EQ(found["waits"][1]["kind"], "file-lock");
  EXPECT_EQ(found["waits"][1]["owner"]["process"]["pid"], getpid());
  EXPECT_EQ(found["verdict"]["word"], "service");
  EXPECT_EQ(found["facts"]["bus_service"], "org.lagwatch.Slow");
  EXPECT_EQ(found["facts"]["bus_method"], "Work");
  EXPECT_EQ(found["deadlock"], false);
  EXPECT_EQ(call["owner"].value("session_id", ""), SessionOf(service.pid())) << call["owner"].dump(1);
  Process text({LAGWATCH_PROGRAM, "report", found["id"], "--spool", spool_});
  ASSERT_EQ(text.Wait(), 0) << text.Errors();
  EXPECT_THAT(text.Output(), ::testing::HasSubstr("waits for: org.lagwatch.Slow, method Work, over D-Bus"));
  EXPECT_THAT(text.Output(), ::testing::HasSubstr("; its own reports: "));
}

INSTANTIATE_TEST_SUITE_P(Libraries, BusTest,
                         ::testing::Values(Call{"gdbus"}, Call{"libdbus"}, Call{"libdbus", true}),
                         [](const auto& call) {
                           return call.param.library + (call.param.is_attached ? "Attached" : "");
                         });

}  // namespace
}  // namespace lagwatch::tools
