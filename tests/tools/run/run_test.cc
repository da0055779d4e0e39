// SPDX-License-Identifier: Apache-2.0
// `lagwatch run` on unprepared programs: its findings, and that the programs do not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/testing/configured_collector.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;

class RunWaitTest : public RunTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RunWaitTest, FindsAFreezeBetweenTwoWaits) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, GetParam(), "600"}, {"--app-version", "9"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Output(), "good\n");
  EXPECT_EQ(process.Errors(), "");

  json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports;
  EXPECT_EQ(reports[0]["app"], "wait_loop");
  EXPECT_EQ(reports[0]["version"], "9");
  EXPECT_EQ(reports[0]["loop"], "wait_loop");
  EXPECT_EQ(reports[0]["tag"], GetParam());
  EXPECT_EQ(reports[0]["ended"], true);
  json report = Ask({"report", reports[0]["id"]});
  // On a machine that is too busy nothing of the process may have run for a while.
  EXPECT_GE(report["duration_ms"].get<int>() + report["guard"]["stopped_ms"].get<int>(), 600);
  std::vector<std::string> functions;
  for (const json& frame : report["expensive_stack"]) functions.push_back(frame["function"]);
  EXPECT_THAT(functions, ::testing::Contains(HasSubstr("FreezeHere")));
  EXPECT_THAT(functions, ::testing::Contains("main"));
  json usage = Ask({"usage"});
  ASSERT_EQ(usage.size(), 1u);
  EXPECT_EQ(usage[0]["app"], "wait_loop");
  EXPECT_EQ(usage[0]["version"], "9");
  EXPECT_EQ(usage[0]["hangs"], 1);
  EXPECT_GE(usage[0]["dispatches"].get<int>(), 1);
}

INSTANTIATE_TEST_SUITE_P(EveryWait, RunWaitTest,
                         ::testing::Values("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll",
                                           "select", "pselect", "__poll_chk", "__ppoll_chk"),
                         [](const auto& wait) { return std::string(wait.param); });

class RunBlockingTest : public RunTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RunBlockingTest, FindsAFreezeOfALoopThatPollsNothing) {
  Process process(Watched({LAGWATCH_BLOCKING_LOOP, GetParam(), "loop"}, {"--verbose", "--threads", "main"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Output(), "good\n");
  EXPECT_THAT(process.Errors(), HasSubstr("lagwatch: watched 1 loop in 1 thread; 1 hang"));
  const json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports;
  EXPECT_EQ(reports[0]["tag"], GetParam());
  EXPECT_THAT(Ask({"report", reports[0]["id"]})["expensive_stack"].dump(), HasSubstr("FreezeHere"));
}

INSTANTIATE_TEST_SUITE_P(EveryKind, RunBlockingTest, ::testing::Values("sem_wait", "read"),
                         [](const auto& wait) { return std::string(wait.param); });

TEST_F(RunTest, TakesAProgramThatHasWaitedForItsWorkersForNoLoop) {
  for (const char* end : {"batch", "loop"}) {
    Process process(Watched({LAGWATCH_BLOCKING_LOOP, "sem_wait", end}));
    EXPECT_EQ(process.Wait(), 0);
    EXPECT_EQ(process.Output(), "good\n");
    EXPECT_FALSE(std::filesystem::exists(spool_)) << end;  // it has no loop
  }
}

TEST_F(RunTest, NamesTheThreadsThatHadNoLoop) {
  Process process(
      Watched({"/usr/bin/python3", "-c",
               "import select, threading, time\n"
               "for i in range(3): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
               "poll = select.poll()\n"
               "for i in range(5): poll.poll(1)\n"},
              {"--verbose"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_THAT(
      process.Errors(),
      ::testing::StartsWith("lagwatch: watched 1 loop in 1 thread; 0 hangs; 3 other threads had no loop: "));
  EXPECT_THAT(process.Errors(),
              ::testing::EndsWith("(3); the main thread has one; --threads all watches each\n"));
}

TEST_F(RunTest, ReportsASlowDispatchWithATreeIfAskedTo) {
  Process process({LAGWATCH_PROGRAM, "run", "--threshold-ms", "20000", "--slow-reports", "--slow-dispatch-ms",
                   "300", "--spool", spool_, "--", LAGWATCH_WAIT_LOOP, "poll", "1500"});
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Errors(), "");
  const json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports;
  EXPECT_EQ(reports[0]["kind"], "slow");
  EXPECT_EQ(reports[0]["ended"], true);
  EXPECT_GE(reports[0]["duration_ms"], 1500);
  const json report = Ask({"report", reports[0]["id"]});
  EXPECT_THAT(report["call_tree"].dump(), HasSubstr("FreezeHere"));
  Process show({LAGWATCH_PROGRAM, "report", reports[0]["id"], "--spool", spool_});
  EXPECT_EQ(show.Wait(), 0);
  EXPECT_THAT(show.Output(), HasSubstr("\nTime by call (estimated from samples)\n"));
  EXPECT_THAT(show.Output(), HasSubstr("FreezeHere"));
  const json clusters = Ask({"clusters"});
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_EQ(clusters[0]["hangs"], 0);
}

TEST_F(RunTest, PrintsTheDispatchesBeforeAHang) {
  Process process(Watched({"/usr/bin/python3", "-c",
                           "import select, time\n"
                           "poll = select.poll()\n"
                           "for ms in [30] * 14 + [700, 0]:\n"
                           "  poll.poll(1)\n"
                           "  time.sleep(ms / 1000)\n"}));
  EXPECT_EQ(process.Wait(), 0);
  const json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports;
  EXPECT_GE(Ask({"report", reports[0]["id"]})["history"].size(), 12u);
  Process show({LAGWATCH_PROGRAM, "report", reports[0]["id"], "--spool", spool_});
  EXPECT_EQ(show.Wait(), 0);
  EXPECT_THAT(show.Output(), HasSubstr("\nDispatches before (the last 10 of "));
  EXPECT_THAT(show.Output(), HasSubstr("  IN QUEUE  DISPATCH\n"));
  EXPECT_THAT(show.Output(), HasSubstr("  poll\n"));
}

TEST_F(RunTest, BlamesTheCallerThatTookLongerUnlessToldToGoByTheLeaf) {
  auto blamed = [&](const std::string& rule) {
    const std::string spool = directory_ / rule;
    Process process({LAGWATCH_PROGRAM, "run", "--threshold-ms", "1200", "--spool", spool, "--expensive", rule,
                     "--", LAGWATCH_WAIT_LOOP, "poll", "1500", "shared"});
    EXPECT_EQ(process.Wait(), 0);
    Process reports({LAGWATCH_PROGRAM, "reports", "--spool", spool, "--json"});
    EXPECT_EQ(reports.Wait(), 0);
    const json all = json::parse(reports.Output());
    if (all.size() != 1) return std::to_string(all.size()) + " reports";
    Process show({LAGWATCH_PROGRAM, "report", all[0]["id"], "--spool", spool, "--json"});
    EXPECT_EQ(show.Wait(), 0);
    std::string functions;
    const json report = json::parse(show.Output());
    for (const json& frame : report["expensive_stack"])
      functions += frame["function"].get<std::string>() + " ";
    return functions;
  };
  EXPECT_THAT(blamed("path"), HasSubstr("LoadHere"));
  EXPECT_THAT(blamed("leaf"), HasSubstr("ClickHere"));
}

TEST_F(RunTest, FindsAWaitInsideAHandlerAndNoDialog) {
  for (const char* innocent : {"dialog", "next"}) {
    EXPECT_EQ(Process(Watched({LAGWATCH_WAIT_LOOP, "epoll_wait", "700", innocent})).Wait(), 0);
    EXPECT_EQ(Ask({"reports"}), json::array()) << innocent;
  }
  EXPECT_EQ(Process(Watched({LAGWATCH_WAIT_LOOP, "epoll_wait", "700", "inside"})).Wait(), 0);
  const json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports;
  EXPECT_EQ(reports[0]["ended"], true);
  const json report = Ask({"report", reports[0]["id"]});
  EXPECT_GE(report["duration_ms"].get<int>() + report["guard"]["stopped_ms"].get<int>(), 700);
  std::vector<std::string> functions;
  for (const json& frame : report["expensive_stack"]) functions.push_back(frame["function"]);
  EXPECT_THAT(functions, ::testing::Contains(HasSubstr("AskService")));
}

TEST_F(RunTest, MakesADumpWhenAsked) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "60000"}));
  const std::string pid = std::to_string(process.pid());
  const auto program = [](const std::string& of) {
    return std::filesystem::read_symlink("/proc/" + of + "/exe");
  };
  EXPECT_TRUE(testing::WaitUntil([&] { return program(pid) != program("self"); }));
  // It is watched from its first wait on, for which the request waits.
  Process dump({LAGWATCH_PROGRAM, "dump", pid});
  EXPECT_EQ(dump.Wait(), 0) << dump.Errors();
  std::string id;
  EXPECT_TRUE(testing::WaitUntil([&] {
    for (const json& report : Ask({"reports"})) {
      if (report["kind"] == "dump") id = report["id"];
    }
    return !id.empty();
  }));
  json report = Ask({"report", id});
  EXPECT_EQ(report["tag"], "lagwatch dump");
  EXPECT_FALSE(report["facts"].contains("dump_signal"));
  EXPECT_EQ(report["pid"], process.pid());
  EXPECT_EQ(report["threads"][0]["tid"], process.pid());
  Process show({LAGWATCH_PROGRAM, "report", id, "--spool", spool_});
  EXPECT_EQ(show.Wait(), 0);
  EXPECT_THAT(show.Output(), HasSubstr("  kind     dump\n"));
  EXPECT_THAT(show.Output(), HasSubstr("\nFacts\n"));
  EXPECT_THAT(show.Output(), HasSubstr("\n  open_fds  "));
  EXPECT_THAT(show.Output(), ::testing::Not(HasSubstr("  lasted ")));
}

TEST_F(RunTest, AsksAnIdleProgramWithDeadlyHandlersForADump) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "0", "deadly"}, {"--dump-signal", "USR2"}));
  const std::string pid = std::to_string(process.pid());
  EXPECT_TRUE(testing::WaitUntil([&] { return process.Output() == "waiting\n"; }));
  Process dump({LAGWATCH_PROGRAM, "dump", pid});
  EXPECT_EQ(dump.Wait(), 0) << dump.Errors();
  EXPECT_TRUE(testing::WaitUntil([&] {
    const json reports = Ask({"reports"});
    return reports.size() == 1 && reports[0]["kind"] == "dump";
  }));
  EXPECT_EQ(kill(process.pid(), SIGTERM), 0);
  EXPECT_EQ(process.Wait(), -SIGTERM);  // it has lived until then
}

TEST_F(RunTest, DumpsAProgramThatIsNotWatchedFromOutside) {
  Process idle({"/usr/bin/env", "cat"});
  Process dump({LAGWATCH_PROGRAM, "dump", std::to_string(idle.pid()), "--spool", spool_});
  EXPECT_EQ(dump.Wait(), 0) << dump.Errors();
  const json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports.dump(1);
  EXPECT_EQ(reports[0]["kind"], "dump");
  EXPECT_EQ(reports[0]["app"], "cat");
  EXPECT_THAT(dump.Output(), HasSubstr(reports[0]["id"].get<std::string>()));
  Process none({LAGWATCH_PROGRAM, "dump", std::to_string(getpid()), "--signal", "NONSENSE"});
  EXPECT_EQ(none.Wait(), 2);
  EXPECT_THAT(none.Errors(), HasSubstr("'NONSENSE' is not a signal"));
}

TEST_F(RunTest, WatchesTheThreadsThatItIsTold) {
  const std::vector<std::string> command = {LAGWATCH_WAIT_LOOP, "poll", "600", "thread"};
  EXPECT_EQ(Process(Watched(command, {"--threads", "main"})).Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(spool_));
  EXPECT_EQ(Process(Watched(command, {"--threads", "other"})).Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(spool_));
  EXPECT_EQ(Process(Watched(command, {"--threads", "worker"})).Wait(), 0);
  EXPECT_EQ(Ask({"reports"}).size(), 1u);
  EXPECT_EQ(Process(Watched(command, {"--threads", "all"})).Wait(), 0);
  json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0]["loop"], "worker");
}

TEST_F(RunTest, WatchesOtherThreadsWhileTheMainThreadOnlyWaitsForThem) {
  for (const char* wait : {"join", "sigwait", "pause", "exit"}) {
    Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "600", wait}));
    EXPECT_EQ(process.Wait(), 0) << wait;
    json reports = Ask({"reports"});
    ASSERT_EQ(reports.size(), 1u) << wait;
    EXPECT_EQ(reports[0]["loop"], "worker");
    std::filesystem::remove_all(spool_);
  }
}

TEST_F(RunTest, DoesNotWatchWorkersOfAMainThreadThatRunsALoop) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "600", "worker"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(Ask({"reports"}), json::array());
}

TEST_F(RunTest, SaysAtTheEndWhatWasWatchedWhenAsked) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "600"}, {"--verbose"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Output(), "good\n");
  EXPECT_EQ(process.Errors(), "lagwatch: watched 1 loop in 1 thread; 1 hang\n");
  Process none(Watched({"/bin/true"}, {"--verbose"}));
  EXPECT_EQ(none.Wait(), 0);
  EXPECT_EQ(none.Errors(), "lagwatch: watched nothing: no thread waited in a loop\n");
  Process reports({LAGWATCH_PROGRAM, "reports", "--verbose", "--spool", spool_});
  EXPECT_EQ(reports.Wait(), 0);
  EXPECT_THAT(reports.Errors(), HasSubstr("lagwatch: watched wait_loop"));
  EXPECT_THAT(reports.Errors(), HasSubstr(", 1 hang\n"));
}

TEST_F(RunTest, StartsBeforeAServerGivesUpItsPrivileges) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "0", "setuid"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Output(), "good\n");
  // Afterwards it could not create the run record.
  EXPECT_FALSE(std::filesystem::is_empty(spool_ + "/runs"));
}

TEST_F(RunTest, EndsNoProgramThatKeepsCapabilitiesInOneThread) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  Process process(Watched({"setpriv", "--reuid=65534", "--clear-groups", "id", "-u"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Output(), "65534\n");
}

TEST_F(RunTest, LeavesANoteOfAProgramWithoutALoop) {
  Process process(Watched({"sleep", "5.2"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(process.Errors(), "");
  for (const char* list : {"reports", "losses"}) {
    Process read({LAGWATCH_PROGRAM, list, "--spool", spool_});
    EXPECT_EQ(read.Wait(), 0);
    EXPECT_THAT(read.Errors(), HasSubstr("lagwatch: not watched: sleep (process "));
    EXPECT_THAT(read.Errors(), HasSubstr("no thread waited in a known loop"));
  }
}

TEST_F(RunTest, GoesOnWatchingAChildThatRunsTheLoop) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, "epoll_wait", "600", "fork"}));
  EXPECT_EQ(process.Wait(), 0);
  EXPECT_EQ(Ask({"reports"}).size(), 1u);
}

TEST_F(RunTest, YieldsNothingForAProgramWithoutALoop) {
  EXPECT_EQ(Process(Watched({"/bin/sh", "-c", "exit 0"})).Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(spool_));
}

TEST_F(RunTest, PassesOnExitCodeAndSignal) {
  EXPECT_EQ(Process(Watched({"/bin/sh", "-c", "exit 7"})).Wait(), 7);
  EXPECT_EQ(Process(Watched({"/bin/sh", "-c", "kill -TERM $$"})).Wait(), -SIGTERM);
}

TEST_F(RunTest, LeavesInputOutputEnvironmentAndSignalsAsTheyAre) {
  const std::string script =
      "env; od -c /proc/$$/environ; cat; echo oops >&2; grep -E 'Sig[PBIC]|Shd' /proc/self/status; ls "
      "/proc/self/fd; ulimit -a; pwd; "
      "echo $0 $*";
  const std::vector<std::string> command = {"/bin/sh", "-c", script, "zero", "one two", "--help"};
  using Environment = std::vector<std::string>;
  for (const Environment& environment :
       {Environment{}, Environment{"LD_PRELOAD="}, Environment{"LD_PRELOAD=libm.so.6"},
        Environment{"LD_PRELOAD=", "A=b"}, Environment{"LAGWATCH_APP=kept"}}) {
    Process plain(command, environment);
    Process watched(Watched(command), environment);
    for (Process* process : {&plain, &watched}) {
      process->WriteInput("some input\n");
      process->CloseInput();
      EXPECT_EQ(process->Wait(), 0);
    }
    EXPECT_EQ(watched.Output(), plain.Output());
    EXPECT_EQ(watched.Errors(), plain.Errors());
  }
}

TEST_F(RunTest, TakesEachFlagFromTheEnvironmentToo) {
  Process process({LAGWATCH_PROGRAM, "run", "--", LAGWATCH_WAIT_LOOP, "poll", "600", "thread"},
                  {"LAGWATCH_SPOOL=" + spool_, "LAGWATCH_THRESHOLD_MS=200", "LAGWATCH_THREADS=worker",
                   "LAGWATCH_APP=named", "LAGWATCH_APP_VERSION=3", "LAGWATCH_USER=u-9"});
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0]["app"], "named");
  EXPECT_EQ(reports[0]["version"], "3");
  EXPECT_EQ(reports[0]["user"], "u-9");
}

class ConfiguredRunTest : public RunTest {
 protected:
  // A program that freezes for 600 ms.
  void Run(std::vector<std::string> flags = {}) const {
    flags.insert(flags.end(), {"--", LAGWATCH_WAIT_LOOP, "poll", "600"});
    Process process(Configured(flags));
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    EXPECT_EQ(process.Output(), "good\n");
  }
  // The collector is gone then, so that reports stay here.
  void RunUntilConfigured(const std::string& config) {
    collector_.Configure(config);
    collector_.Start();
    Process process(Configured({"--app", "wait_loop", "--", "sleep", "600"}));
    EXPECT_TRUE(testing::WaitUntil([&] { return HasConfig(); }));
    process.Signal(SIGKILL);
    EXPECT_EQ(process.Wait(), -SIGKILL);
    collector_.Kill();
  }

 private:
  std::vector<std::string> Configured(const std::vector<std::string>& flags) const {
    std::vector<std::string> all = {
        LAGWATCH_PROGRAM,      "run",   "--spool",       spool_,         "--endpoint",
        collector_.endpoint(), "--key", collector_.kKey, "--config-key", collector_.config_key()};
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }
  bool HasConfig() const {
    if (!std::filesystem::exists(spool_)) return false;
    for (const auto& entry : std::filesystem::directory_iterator(spool_)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("config-") && !name.ends_with(".new")) return true;
    }
    return false;
  }

  testing::ConfiguredCollector collector_{directory_ / "data"};
};

TEST_F(ConfiguredRunTest, TakesThresholdsFromWhatTheCollectorSaidBefore) {
  RunUntilConfigured(R"({"threshold_ms": 300, "anr_threshold_ms": 0})");
  Run();
  json reports = Ask({"reports"});
  ASSERT_EQ(reports.size(), 1u) << reports;
  EXPECT_EQ(Ask({"report", reports[0]["id"]})["threshold_ms"], 300);
}

TEST_F(ConfiguredRunTest, RunsUnwatchedWhenTheCollectorWantsIt) {
  RunUntilConfigured(R"({"is_killed": true})");
  Run({"--threshold-ms", "200"});
  EXPECT_EQ(Ask({"reports"}), json::array());
}

TEST_F(RunTest, RunsScripts) {
  std::string script = directory_ / "script";
  std::ofstream(script) << "#!/usr/bin/env sh\necho script \"$1\"\nexit 3\n";
  chmod(script.c_str(), 0755);
  Process process(Watched({script, "argument"}));
  EXPECT_EQ(process.Wait(), 3);
  EXPECT_EQ(process.Output(), "script argument\n");
}

TEST_F(RunTest, RefusesWhatCannotBeWatchedAndSaysWhy) {
  Process no_loader(Watched({LAGWATCH_STATIC_PROGRAM}));
  EXPECT_EQ(no_loader.Wait(), 2);
  EXPECT_THAT(no_loader.Errors(), HasSubstr("statically linked; link its code with liblagwatch instead"));

  std::string text = directory_ / "text";
  std::ofstream(text) << "not a program\n";
  chmod(text.c_str(), 0755);
  Process no_program(Watched({text}));
  EXPECT_EQ(no_program.Wait(), 2);
  EXPECT_THAT(no_program.Errors(), HasSubstr("neither an ELF program nor a script"));

  if (getuid() != 0) return;  // only root can give a file to another user
  std::string privileged = directory_ / "privileged";
  std::filesystem::copy_file("/bin/true", privileged);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(privileged.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chmod(privileged.c_str(), 04755), 0);
  Process setuid(Watched({privileged}));
  EXPECT_EQ(setuid.Wait(), 2);
  EXPECT_THAT(setuid.Errors(), HasSubstr("setuid"));
}

TEST_F(RunTest, AnswersWrongUseWithWhatToDo) {
  Process missing(Watched({"no-such-program-anywhere"}));
  EXPECT_EQ(missing.Wait(), 127);
  EXPECT_THAT(missing.Errors(), HasSubstr("no-such-program-anywhere: no such program in PATH"));
  Process nothing({LAGWATCH_PROGRAM, "run"});
  EXPECT_EQ(nothing.Wait(), 2);
  Process out_of_range({LAGWATCH_PROGRAM, "run", "--threshold-ms", "1", "--", "true"});
  EXPECT_EQ(out_of_range.Wait(), 2);
  EXPECT_THAT(out_of_range.Errors(), HasSubstr("--threshold-ms"));
  Process help({LAGWATCH_PROGRAM, "run", "--help"});
  EXPECT_EQ(help.Wait(), 0);
  for (const char* flag :
       {"--endpoint", "--key", "--app", "--app-version", "--threshold-ms", "--spool", "--threads",
        "--children", "--quiet", "--verbose", "LAGWATCH_SPOOL", "--user-rate-ppm", "--reports-per-day",
        "--reports-per-cause", "--ca-file", "--config-key"}) {
    EXPECT_THAT(help.Output(), HasSubstr(flag));
  }
}

}  // namespace
}  // namespace lagwatch::tools
