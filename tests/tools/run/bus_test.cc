// SPDX-License-Identifier: Apache-2.0
// Waits for the answers of D-Bus services.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <csignal>
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
  // Sockets of both kinds: with a file, and with a name only.
  void StartBus() {
    const std::string kind = GetParam().library == "gdbus" ? "unix:path=" : "unix:abstract=";
    const std::string address = kind + (directory_ / "bus");
    bus_ = std::make_unique<Process>(std::vector<std::string>{"/usr/bin/dbus-daemon", "--session", "--nofork",
                                                              "--nopidfile", "--print-address",
                                                              "--address=" + address});
    ASSERT_TRUE(WaitUntil([&] { return bus_->Output().starts_with(address); })) << bus_->Errors();
    environment_ = {"DBUS_SESSION_BUS_ADDRESS=" + address, "PYTHONDONTWRITEBYTECODE=1"};
  }
  // Started without lagwatch, once it is ready.
  std::unique_ptr<Process> Attached(const std::vector<std::string>& program) {
    auto started = std::make_unique<Process>(program, environment_);
    EXPECT_TRUE(WaitUntil([&] { return started->Output() == "ready\n"; })) << started->Errors();
    Process attach({LAGWATCH_PROGRAM, "attach", std::to_string(started->pid()), "--threshold-ms", "200",
                    "--spool", spool_});
    EXPECT_EQ(attach.Wait(), 0) << attach.Errors();
    return started;
  }
  std::unique_ptr<Process> Start() {
    std::vector<std::string> program = {"/usr/bin/python3", LAGWATCH_BUS_PROGRAM, GetParam().library};
    if (!GetParam().is_attached) return std::make_unique<Process>(Watched(program), environment_);
    program.push_back("later");
    auto started = Attached(program);
    started->WriteInput("call\n");
    return started;
  }
  std::unique_ptr<Process> StartOfPair(const std::string& name, const std::string& other) {
    const std::vector<std::string> program = {"/usr/bin/python3", LAGWATCH_BUS_PAIR, GetParam().library, name,
                                              other};
    if (GetParam().is_attached) return Attached(program);
    auto started = std::make_unique<Process>(Watched(program), environment_);
    EXPECT_TRUE(WaitUntil([&] { return started->Output() == "ready\n"; })) << started->Errors();
    return started;
  }
  // The first report of that process with so many waits; null if there was none for long.
  json ReportOf(pid_t pid, size_t waits) {
    json found;
    const bool has_come = WaitUntil([&] {
      Process list({LAGWATCH_PROGRAM, "reports", "--spool", spool_, "--json"});
      if (list.Wait() != 0) return false;  // there is no spool yet
      for (const json& header : json::parse(list.Output())) {
        if (header.at("pid") != pid) continue;
        found = Ask({"report", header.at("id")});
        if (found.at("waits").size() >= waits) return true;
      }
      return false;
    });
    EXPECT_TRUE(has_come) << found.dump(1);
    return has_come ? found : json();
  }
  // Of the reports of that process.
  std::string SessionOf(pid_t pid) {
    for (const json& header : Ask({"reports"}))
      if (header.at("pid") == pid) return header.at("session_id");
    return "no report";
  }

  std::unique_ptr<Process> bus_;
  std::vector<std::string> environment_;
};

TEST_P(BusTest, NamesTheServiceThatDoesNotAnswerAndTheLockThatItWaitsFor) {
  const std::string file = directory_ / "file";
  ASSERT_NO_FATAL_FAILURE(StartBus());
  const int held = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  // Reports its own hang, too.
  Process service(Watched({"/usr/bin/python3", LAGWATCH_BUS_SERVICE, file}), environment_);
  ASSERT_TRUE(WaitUntil([&] { return service.Output() == "ready\n"; })) << service.Errors();

  const std::unique_ptr<Process> program = Start();
  const json found = ReportOf(program->pid(), 2);
  close(held);
  ASSERT_EQ(program->Wait(), 0) << program->Errors();

  ASSERT_FALSE(found.is_null());
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

TEST_P(BusTest, NamesTheDeadlockOfTwoProgramsThatCallEachOther) {
  ASSERT_NO_FATAL_FAILURE(StartBus());
  const auto one = StartOfPair("org.lagwatch.One", "org.lagwatch.Other");
  const auto other = StartOfPair("org.lagwatch.Other", "org.lagwatch.One");
  one->WriteInput("call\n");

  for (const Process* process : {one.get(), other.get()}) {
    const json found = ReportOf(process->pid(), 2);
    ASSERT_FALSE(found.is_null());
    EXPECT_EQ(found["verdict"]["word"], "deadlock");
    EXPECT_EQ(found["deadlock"], true);
    const json& waits = found["waits"];
    ASSERT_EQ(waits.size(), 2u) << waits.dump(1);
    const pid_t peer = process == one.get() ? other->pid() : one->pid();
    EXPECT_EQ(waits[0]["owner"]["process"]["pid"], peer);
    EXPECT_EQ(waits[1]["process"]["pid"], peer);
    EXPECT_EQ(waits[1]["owner"]["tid"], waits[0]["tid"]);
    for (const json& wait : waits) EXPECT_EQ(wait["kind"], "bus-call");
  }
  for (Process* process : {one.get(), other.get()}) {
    process->Signal(SIGKILL);
    EXPECT_EQ(process->Wait(), -SIGKILL);
  }
}

INSTANTIATE_TEST_SUITE_P(Libraries, BusTest,
                         ::testing::Values(Call{"gdbus"}, Call{"libdbus"}, Call{"libdbus", true},
                                           Call{"sdbus"}),
                         [](const auto& call) {
                           return call.param.library + (call.param.is_attached ? "Attached" : "");
                         });

}  // namespace
}  // namespace lagwatch::tools
