// SPDX-License-Identifier: Apache-2.0
// `lagwatch doctor` says of real programs and collectors what then comes true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/configured_collector.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using testing::WaitUntil;
using Words = std::vector<std::string>;

class DoctorTest : public ::testing::Test {
 protected:
  DoctorTest() {
    for (const char* name : {"LAGWATCH_ENDPOINT", "LAGWATCH_KEY", "LAGWATCH_TOKEN", "LAGWATCH_SPOOL"})
      unsetenv(name);
  }
  // `lagwatch COMMAND…`: its exit code.
  int Run(Words command) {
    command.insert(command.begin(), LAGWATCH_PROGRAM);
    Process process(command);
    const int code = process.Wait();
    output_ = process.Output();
    errors_ = process.Errors();
    return code;
  }
  int Doctor(Words words, const Words& around = {}) {
    Words command = around;
    command.insert(command.end(), {LAGWATCH_PROGRAM, "doctor", "--json", "--spool", spool_});
    command.insert(command.end(), words.begin(), words.end());
    Process process(command);
    const int code = process.Wait();
    errors_ = process.Errors();
    checks_.clear();
    const json checks = json::parse(process.Output(), nullptr, false);
    if (checks.is_array())
      for (const json& check : checks) checks_[check.at("check")] = check;
    return code;
  }
  std::string Result(const std::string& check) const {
    return checks_.contains(check) ? checks_.at(check).at("result").get<std::string>() : "missing";
  }
  std::string Text(const std::string& check) const {
    if (!checks_.contains(check)) return "missing";
    return checks_.at(check).at("message").get<std::string>() + " | " +
           checks_.at(check).at("remedy").get<std::string>();
  }
  bool HasNo() const {
    for (const auto& [name, check] : checks_)
      if (check.at("result") == "no") return true;
    return false;
  }
  // A program that is in its loop.
  std::unique_ptr<Process> Started(const Words& command, const std::string& word) {
    auto process = std::make_unique<Process>(command);
    EXPECT_TRUE(WaitUntil([&] { return process->Output().starts_with(word); })) << process->Errors();
    return process;
  }
  // Whether attach succeeds.
  bool CanAttach(pid_t pid) {
    const bool has_attached = Run({"attach", std::to_string(pid), "--spool", spool_}) == 0;
    if (has_attached) {
      EXPECT_EQ(Run({"detach", std::to_string(pid)}), 0) << errors_;
    }
    return has_attached;
  }

  testing::ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
  std::map<std::string, json> checks_;
  std::string output_;
  std::string errors_;
};

TEST_F(DoctorTest, LeavesNothingAndSaysWhatTheMachineHas) {
  const int code = Doctor({});
  EXPECT_EQ(code, HasNo() ? 1 : 0);
  for (const char* check : {"kernel", "run", "ptrace", "perf", "bpf", "spool", "endpoint"})
    EXPECT_NE(Result(check), "missing") << check;
  EXPECT_EQ(Result("run"), "ok");
  EXPECT_EQ(Result("spool"), "ok");
  EXPECT_THAT(Text("spool"), HasSubstr(spool_));
  EXPECT_FALSE(fs::exists(spool_));
  // With --bpf the command says why it does not record, or nothing.
  Process watch({LAGWATCH_PROGRAM, "watch", "--bpf", "--spool", spool_, std::to_string(getpid())});
  ASSERT_TRUE(WaitUntil([&] { return watch.Errors().find("is watched from outside") != std::string::npos; }));
  watch.Signal(SIGTERM);
  EXPECT_EQ(watch.Wait(), 0);
  EXPECT_EQ(watch.Errors().find("without --bpf") == std::string::npos, Result("bpf") == "ok") << Text("bpf");
}

TEST_F(DoctorTest, PeopleGetALineForEachCheckAndTheLineToType) {
  spool_ = "/proc/lagwatch";
  EXPECT_EQ(Run({"doctor", "--spool", spool_}), 1);
  EXPECT_THAT(output_, HasSubstr("This machine\n"));
  EXPECT_THAT(output_, HasSubstr("\n  ok       kernel      Linux "));
  EXPECT_THAT(output_,
              HasSubstr("\n  no       spool       cannot create the spool directory /proc/lagwatch"));
  EXPECT_THAT(output_, HasSubstr("\n                       lagwatch run --spool DIRECTORY -- PROGRAM\n"));
}

TEST_F(DoctorTest, ThereIsNoSuchProcessOrProgram) {
  EXPECT_EQ(Doctor({"999999999"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no such process: 999999999"));
  EXPECT_EQ(Doctor({"--", "no-such-program", "--json"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no-such-program: no such program in PATH"));
}

TEST_F(DoctorTest, RunIsRefusedWhereTheCommandRefuses) {
  for (const char* program : {"/bin/true", LAGWATCH_STATIC_PROGRAM, LAGWATCH_SANITIZED_PROGRAM,
                              LAGWATCH_FOREIGN_LOADER_PROGRAM, LAGWATCH_OLD_GLIBC_PROGRAM, "/etc/passwd"}) {
    const bool is_program = std::string(program) != "/etc/passwd";
    const int code = Doctor({"--", program});
    if (!is_program) {
      EXPECT_EQ(code, 2);  // it may not be run
      continue;
    }
    const bool is_refused = Run({"run", "--spool", spool_, "--", program}) == 2;
    EXPECT_EQ(Result("run"), is_refused ? "no" : "ok") << program << ": " << Text("run");
    EXPECT_EQ(code, HasNo() ? 1 : 0);
    EXPECT_TRUE(code == 1 || !is_refused);
  }
}

TEST_F(DoctorTest, AttachAndWatchAreAsTheCommandsAre) {
  auto loop = Started({LAGWATCH_ATTACHED_PROGRAM, "loop"}, "ready");
  auto fixed = Started({LAGWATCH_WATCHED_PROGRAM, "calm", "20"}, "begun");
  auto stopped = Started({LAGWATCH_ATTACHED_PROGRAM, "loop"}, "ready");
  stopped->Signal(SIGSTOP);
  for (const Process* process : {loop.get(), fixed.get(), stopped.get()}) {
    const int code = Doctor({std::to_string(process->pid())});
    EXPECT_EQ(code, HasNo() ? 1 : 0);
    EXPECT_EQ(Result("watch"), "ok") << Text("watch");
    EXPECT_EQ(Result("rights"), "ok") << Text("rights");
    EXPECT_EQ(Result("watched"), "ok");
    EXPECT_EQ(Result("attach") == "ok", CanAttach(process->pid())) << Text("attach") << errors_;
  }
  EXPECT_THAT(Text("attach"), HasSubstr("is stopped"));
  stopped->Signal(SIGCONT);
  Doctor({std::to_string(fixed->pid())});
  EXPECT_THAT(Text("program"), HasSubstr("a static program"));
  EXPECT_EQ(Result("run"), "no");
  EXPECT_EQ(Result("static TLS"), "missing");
  Doctor({std::to_string(loop->pid())});
  EXPECT_THAT(Text("program"), HasSubstr("a program with glibc 2."));
  EXPECT_EQ(Result("static TLS"), "ok");
  fixed->Signal(SIGKILL);
  EXPECT_EQ(fixed->Wait(), -SIGKILL);
}

TEST_F(DoctorTest, AProgramWithoutRoomForThreadLocalsIsTold) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "loop"}, {"GLIBC_TUNABLES=glibc.rtld.optional_static_tls=0"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output().starts_with("ready"); }));
  Doctor({std::to_string(program.pid())});
  EXPECT_THAT(Text("static TLS"), HasSubstr(" of the 1152 bytes"));
  EXPECT_EQ(Result("static TLS") == "ok", CanAttach(program.pid())) << Text("static TLS") << errors_;
}

TEST_F(DoctorTest, AConfinedProgramIsWatchedFromOutsideOnly) {
  auto program = Started({LAGWATCH_CONFINED, "seccomp", "30000"}, "confined: 0");
  Doctor({std::to_string(program->pid())});
  EXPECT_EQ(Result("seccomp"), "limited");
  EXPECT_EQ(Result("attach"), "no");
  EXPECT_FALSE(CanAttach(program->pid()));
  EXPECT_EQ(Result("watch"), "ok") << Text("watch");
}

TEST_F(DoctorTest, AProgramInAContainerIsKnown) {
  if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
  const fs::path binaries = fs::path(LAGWATCH_PROGRAM).parent_path().parent_path();
  fs::copy_file(LAGWATCH_ATTACHED_PROGRAM, directory_ / "program");
  auto program = Started(
      {"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "/bin/sh", "-c",
       "mount -t tmpfs none " + binaries.string() + " && exec " + (directory_ / "program") + " loop"},
      "ready");
  pid_t inside = 0;
  std::ifstream(fs::path("/proc") / std::to_string(program->pid()) / "task" / std::to_string(program->pid()) /
                "children") >>
      inside;
  ASSERT_GT(inside, 0);
  Doctor({std::to_string(inside)});
  EXPECT_THAT(Text("container"), HasSubstr("there its process id is 1"));
  EXPECT_THAT(Text("program"), HasSubstr(directory_ / "program"));
  EXPECT_EQ(Result("run"), "limited");
  EXPECT_EQ(Result("attach") == "ok", CanAttach(inside)) << Text("attach") << errors_;
}

TEST_F(DoctorTest, AWatchedProgramIsKnown) {
  Process program({LAGWATCH_PROGRAM, "run", "--spool", spool_, "--", LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output().starts_with("ready"); }));
  const std::string pid = std::to_string(program.pid());
  EXPECT_TRUE(WaitUntil([&] {
    Doctor({pid});
    return Text("watched").find("has lagwatch's watchdog") == 0;
  })) << Text("watched");
  EXPECT_THAT(Text("attach"), HasSubstr("not needed"));
  EXPECT_THAT(Text("watched"), HasSubstr("lagwatch dump " + pid));
}

TEST_F(DoctorTest, LanguagesOfTheProcessAreNamed) {
  auto python = Started({"python3", "-c", "print('ready', flush=True); input()"}, "ready");
  Doctor({std::to_string(python->pid())});
  EXPECT_EQ(Result("languages"), "ok");
  EXPECT_THAT(Text("languages"), HasSubstr("frames of python are read"));
}

TEST_F(DoctorTest, SymbolsAreAsTheFilesAre) {
  const std::string stripped = directory_ / "stripped";
  const std::string debug = directory_ / "stripped.debug";
  const auto copy = [](const Words& arguments) {
    Words command = {LAGWATCH_OBJCOPY};
    command.insert(command.end(), arguments.begin(), arguments.end());
    Process process(command);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
  };
  Doctor({LAGWATCH_ATTACHED_PROGRAM});
  EXPECT_EQ(Result("symbols"), "ok") << Text("symbols");
  copy({"--strip-all", LAGWATCH_ATTACHED_PROGRAM, stripped});
  Doctor({stripped});
  EXPECT_EQ(Result("symbols"), "limited");
  EXPECT_THAT(Text("symbols"), HasSubstr("only exported functions have names"));
  EXPECT_THAT(Text("symbols"), HasSubstr("lagwatch report --debuginfod ID"));
  copy({"--only-keep-debug", LAGWATCH_ATTACHED_PROGRAM, debug});
  copy({"--add-gnu-debuglink=" + debug, stripped});
  Doctor({stripped});
  EXPECT_EQ(Result("symbols"), "ok") << Text("symbols");
  copy({"--strip-debug", LAGWATCH_ATTACHED_PROGRAM, directory_ / "functions"});
  Doctor({directory_ / "functions"});
  EXPECT_THAT(Text("symbols"), HasSubstr("names, and no lines"));
}

TEST_F(DoctorTest, AnotherUsersProcessNeedsSudo) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  auto program = Started({LAGWATCH_ATTACHED_PROGRAM, "loop"}, "ready");
  fs::permissions(directory_.path(), fs::perms::all);
  const Words as_nobody = {"setpriv", "--reuid=65534", "--clear-groups"};
  EXPECT_EQ(Doctor({std::to_string(program->pid())}, as_nobody), 1) << errors_;
  EXPECT_EQ(Result("rights"), "no");
  EXPECT_THAT(Text("rights"),
              HasSubstr("belongs to another user: run lagwatch as that user or as root (sudo)"));
  EXPECT_EQ(Result("bpf"), "limited");
}

TEST_F(DoctorTest, ACollectorsKeysAreTried) {
  testing::ConfiguredCollector collector(directory_ / "data");
  collector.Start();
  const Words endpoint = {"--endpoint", collector.endpoint()};
  const auto with = [&](Words more) {
    more.insert(more.begin(), endpoint.begin(), endpoint.end());
    return Doctor(more);
  };
  EXPECT_EQ(with({"--key", collector.kKey, "--token", collector.admin_token()}), HasNo() ? 1 : 0);
  for (const char* check : {"endpoint", "key", "token", "clock"})
    EXPECT_EQ(Result(check), "ok") << Text(check);
  EXPECT_EQ(Text("clock"), "as the collector's | ");
  EXPECT_EQ(with({"--key", "k_wrong", "--token", "a_wrong"}), 1);
  EXPECT_EQ(Text("key"), "the collector refuses it | export LAGWATCH_KEY=$(cat DATA/key)");
  EXPECT_EQ(Result("token"), "no");
  EXPECT_EQ(with({}), 1);
  EXPECT_THAT(Text("key"), HasSubstr("takes no reports without"));
  EXPECT_EQ(with({"--key", collector.kKey, "--token", collector.kKey}), 1);
  EXPECT_THAT(Text("token"), HasSubstr("reads nothing"));
  collector.Kill();
  EXPECT_EQ(with({"--key", collector.kKey}), 1);
  EXPECT_THAT(Text("endpoint"), HasSubstr("cannot reach the collector"));
}

TEST_F(DoctorTest, OtherPlacesForReports) {
  EXPECT_EQ(Doctor({"--endpoint", "file://" + directory_.path()}), HasNo() ? 1 : 0);
  EXPECT_EQ(Result("endpoint"), "ok");
  EXPECT_EQ(Doctor({"--endpoint", "file:///no/such/place"}), 1);
  EXPECT_EQ(Result("endpoint"), "no");
  Doctor({"--endpoint", "sentry:https://abc@sentry.example.com/1"});
  EXPECT_EQ(Result("endpoint"), "ok") << Text("endpoint");
  EXPECT_EQ(Doctor({"--endpoint", "sentry:nonsense"}), 1);
  EXPECT_EQ(Result("endpoint"), "no");
}

TEST_F(DoctorTest, ClocksAreCompared) {
  const auto ask = [&](const std::string& kind) {
    Process server({"python3", LAGWATCH_CLOCK_SERVER, kind});
    EXPECT_TRUE(WaitUntil([&] { return server.Output().ends_with('\n'); })) << server.Errors();
    const std::string port = server.Output().substr(0, server.Output().size() - 1);
    return Doctor({"--endpoint", "http://127.0.0.1:" + port, "--key", "k"});
  };
  ask("-7200");
  EXPECT_EQ(Result("clock"), "limited");
  EXPECT_THAT(Text("clock"), HasSubstr("7200.0 s ahead of the collector's"));
  ask("600");
  EXPECT_THAT(Text("clock"), HasSubstr("600.0 s behind the collector's"));
  EXPECT_EQ(ask("-200000"), 1);
  EXPECT_EQ(Result("clock"), "no");
  EXPECT_THAT(Text("clock"), HasSubstr("refuses reports"));
  EXPECT_EQ(ask("other"), 1);
  EXPECT_EQ(Result("endpoint"), "no");
  EXPECT_THAT(Text("endpoint"), HasSubstr("not a lagwatch collector's"));
}

}  // namespace
}  // namespace lagwatch::tools
