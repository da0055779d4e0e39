// SPDX-License-Identifier: Apache-2.0
// `--log` of `lagwatch run`, `attach` and `watch`, and `lagwatch log`: a block at the moment of each hang.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::WaitUntil;

size_t Blocks(const std::string& text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find("responded for", at)) != std::string::npos; ++at) ++count;
  return count;
}

// A program that sleeps in a handler for so long, which it does on a busy machine, too.
class HangLogTest : public RunTest {
 protected:
  static std::vector<std::string> Sleeping(const std::string& idle_s, const std::string& sleep_s) {
    return {LAGWATCH_SHARED_PROGRAM, "sleeps", idle_s, sleep_s};
  }
};

TEST_F(HangLogTest, SaysAHangOnStderrWhileItLasts) {
  Process program(Watched(Sleeping("1", "6"), {"--log", "stderr"}));
  ASSERT_TRUE(WaitUntil([&] { return program.Errors().find("lagwatch report ") != std::string::npos; }));
  EXPECT_EQ(program.Output().find("done"), std::string::npos) << "the freeze was over";
  const std::string block = program.Errors();
  EXPECT_THAT(block, HasSubstr("lagwatch: watched_shared_program (pid " + std::to_string(program.pid()) +
                               ") has not responded for "));
  EXPECT_THAT(block, HasSubstr("(loop watched_shared_, dispatch "));
  EXPECT_THAT(block, HasSubstr("\n  the main thread (" + std::to_string(program.pid()) +
                               ") has slept by its own will, in SleepInHandler, called by "));
  EXPECT_THAT(block, HasSubstr("\n  verdict  sleep"));
  EXPECT_THAT(block, HasSubstr("\n> SleepInHandler  (watched_program.c:"));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.Output(), HasSubstr("done"));
  EXPECT_EQ(Blocks(program.Errors()), 1u) << program.Errors();
  // The line that it ends with shows the report.
  const std::string command = "report   lagwatch report ";
  const std::string id = block.substr(block.find(command) + command.size(), 36);
  EXPECT_EQ(Ask({"report", id})["id"], id);
}

TEST_F(HangLogTest, SaysNothingUnlessAsked) {
  Process program(Watched({LAGWATCH_WAIT_LOOP, "poll", "600"}));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.Errors(), "");
}

TEST_F(HangLogTest, SaysTheHangsOfProgramsThatAreStarted) {
  Process shell(Watched({"/bin/sh", "-c", std::string(LAGWATCH_SHARED_PROGRAM) + " sleeps 1 3; exit 3"},
                        {"--log", "stderr"}));
  EXPECT_EQ(shell.Wait(), 3);
  EXPECT_TRUE(WaitUntil([&] { return Blocks(shell.Errors()) == 1; })) << shell.Errors();
  EXPECT_THAT(shell.Errors(), HasSubstr("SleepInHandler"));
}

TEST_F(HangLogTest, SaysWhatOthersInTheSameSpoolDoOnlyIfAskedTo) {
  Process all({LAGWATCH_PROGRAM, "log", "--spool", spool_});
  Process others({LAGWATCH_PROGRAM, "log", "--spool", spool_, "--app", "editor"});
  std::filesystem::create_directories(spool_);
  Process program(Watched(Sleeping("1", "3")));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return Blocks(all.Errors()) == 1; })) << all.Errors();
  EXPECT_EQ(others.Errors(), "");
  for (Process* log : {&all, &others}) {
    log->Signal(SIGTERM);
    EXPECT_EQ(log->Wait(), -SIGTERM);
  }
  // One that comes later says nothing of what was before.
  Process late({LAGWATCH_PROGRAM, "log", "--spool", spool_});
  EXPECT_FALSE(WaitUntil([&] { return !late.Errors().empty(); }, 1));
  late.Signal(SIGTERM);
  EXPECT_EQ(late.Wait(), -SIGTERM);
}

TEST_F(HangLogTest, SaysTheHangsOfAWatchedProgram) {
  Process program({LAGWATCH_WATCHED_PROGRAM, "sleeps", "3", "4"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output().starts_with("begun"); }));
  Process watcher({LAGWATCH_PROGRAM, "watch", "--threshold-ms", "300", "--spool", spool_, "--log", "stderr",
                   "--quiet", std::to_string(program.pid())});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(watcher.Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return Blocks(watcher.Errors()) == 1; })) << watcher.Errors();
  EXPECT_THAT(watcher.Errors(), HasSubstr("lagwatch: watched_program (pid " + std::to_string(program.pid())));
  EXPECT_THAT(watcher.Errors(), HasSubstr("SleepInHandler"));
}

TEST_F(HangLogTest, SaysTheHangsOfAnAttachedProgramUntilItIsDetached) {
  Process program({LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output().starts_with("ready\n"); }));
  Process attach({LAGWATCH_PROGRAM, "attach", "--threshold-ms", "200", "--spool", spool_, "--log", "stderr",
                  std::to_string(program.pid())});
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  usleep(200'000);  // the loop is known by its waits
  program.WriteInput("freeze\n");
  EXPECT_TRUE(WaitUntil([&] { return Blocks(attach.Errors()) == 1; })) << attach.Errors();
  EXPECT_THAT(attach.Errors(),
              HasSubstr("(pid " + std::to_string(program.pid()) + ") has not responded for "));
  Process detach({LAGWATCH_PROGRAM, "detach", std::to_string(program.pid())});
  ASSERT_EQ(detach.Wait(), 0) << detach.Errors();
  const auto is_followed = [&] {
    Process list({"/bin/ps", "-ww", "-eo", "args"});
    return list.Wait() == 0 &&
           list.Output().find("--pid=" + std::to_string(program.pid())) != std::string::npos;
  };
  EXPECT_TRUE(WaitUntil([&] { return !is_followed(); })) << "its log goes on after it was detached";
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), -SIGKILL);
}

TEST_F(HangLogTest, WritesFieldsIntoSystemdsJournal) {
  std::vector<std::string> command =
      Watched(Sleeping("1", "3"), {"--log", "journal", "--app-version", "2.4.0"});
  command.insert(command.begin(), LAGWATCH_JOURNALD);
  Process program(command);
  const int code = program.Wait();
  if (code == 77) GTEST_SKIP() << "no systemd-journald can be started here";
  EXPECT_EQ(code, 0) << program.Errors();
  EXPECT_THAT(program.Errors(), Not(HasSubstr("responded")));
  const json entry = json::parse(program.Output());
  EXPECT_THAT(entry["MESSAGE"].get<std::string>(), HasSubstr("watched_shared_program 2.4.0 (pid "));
  EXPECT_THAT(entry["MESSAGE"].get<std::string>(), HasSubstr("\n> SleepInHandler"));
  EXPECT_EQ(entry["PRIORITY"], "4");
  EXPECT_EQ(entry["LAGWATCH_APP"], "watched_shared_program");
  EXPECT_EQ(entry["LAGWATCH_VERSION"], "2.4.0");
  EXPECT_THAT(entry["LAGWATCH_FUNCTION"].get<std::string>(), HasSubstr("SleepInHandler"));
  EXPECT_GE(std::stoi(entry["LAGWATCH_DURATION_MS"].get<std::string>()), 200);
  const json report = Ask({"report", entry["LAGWATCH_REPORT"]});
  EXPECT_EQ(entry["LAGWATCH_PID"], report["pid"].dump());
  EXPECT_EQ(entry["LAGWATCH_VERDICT"], report["verdict"]["word"]);
}

// A disk that hangs holds up both.
TEST_F(HangLogTest, WaitsForAJournalThatIsBusy) {
  std::vector<std::string> command = Watched(Sleeping("1", "1"), {"--log", "journal"});
  command.insert(command.begin(), {LAGWATCH_JOURNALD, "--busy"});
  Process program(command);
  const int code = program.Wait();
  if (code == 77) GTEST_SKIP() << "no systemd-journald can be started here";
  EXPECT_EQ(code, 0) << program.Errors();
  EXPECT_THAT(program.Output(), HasSubstr("SleepInHandler")) << program.Errors();
}

TEST_F(HangLogTest, GoesOnAfterAHangThatTheJournalDidNotTake) {
  const std::string once = std::string(LAGWATCH_SHARED_PROGRAM) + " sleeps 2 1";
  std::vector<std::string> command =
      Watched({"/bin/sh", "-c", once + "; sleep 4; exec " + once}, {"--log", "journal"});
  command.insert(command.begin(), {LAGWATCH_JOURNALD, "--late"});
  Process program(command);
  const int code = program.Wait();
  if (code == 77) GTEST_SKIP() << "no systemd-journald can be started here";
  EXPECT_EQ(code, 0) << program.Errors();
  EXPECT_THAT(program.Errors(), HasSubstr("(1 not logged so far)"));
  EXPECT_EQ(Blocks(program.Output()), 1u) << program.Output();
}

// A substitution ends when all have closed the pipe.
TEST_F(HangLogTest, ClosesAPipeWhenTheFirstProcessHasEnded) {
  std::string watched;
  for (const std::string& word : Watched({}, {"--log", "stderr"})) watched += word + " ";
  const std::string daemon =
      std::string(LAGWATCH_SHARED_PROGRAM) + " sleeps 300 1 </dev/null >/dev/null 2>&1";
  // It is followed when the shell ends.
  Process shell(
      {"/bin/sh", "-c",
       "pid=$(" + watched + "sh -c '" + daemon + " & echo $!; sleep 2' 2>&1); echo \"is $pid\"; kill $pid"});
  ASSERT_TRUE(WaitUntil([&] { return shell.Output().starts_with("is "); }, 60)) << "the log keeps the pipe";
  EXPECT_EQ(shell.Wait(), 0) << shell.Errors();
}

TEST_F(HangLogTest, OneProcessLogsAllThatAreWatched) {
  std::vector<std::unique_ptr<Process>> programs;
  std::vector<std::string> watch = {LAGWATCH_PROGRAM, "watch", "--threshold-ms", "300",    "--spool",
                                    spool_,           "--log", "stderr",         "--quiet"};
  for (int i = 0; i < 3; ++i) {
    programs.push_back(
        std::make_unique<Process>(std::vector<std::string>{LAGWATCH_WATCHED_PROGRAM, "sleeps", "4", "3"}));
    ASSERT_TRUE(WaitUntil([&] { return programs.back()->Output().starts_with("begun"); }));
    watch.push_back(std::to_string(programs.back()->pid()));
  }
  Process watcher(watch);
  const auto logs = [&] {
    Process list({"/bin/ps", "-ww", "-eo", "args"});
    EXPECT_EQ(list.Wait(), 0);
    const std::string text = list.Output();
    int count = 0;
    for (size_t at = 0; (at = text.find(" log --spool=" + spool_, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_TRUE(WaitUntil([&] { return Blocks(watcher.Errors()) == 3; })) << watcher.Errors();
  EXPECT_EQ(logs(), 1);
  for (const auto& program : programs) {
    EXPECT_THAT(watcher.Errors(), HasSubstr("(pid " + std::to_string(program->pid()) + ")"));
    EXPECT_EQ(program->Wait(), 0);
  }
  EXPECT_EQ(watcher.Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return logs() == 0; })) << "the log goes on";
}

TEST_F(HangLogTest, RunsTheProgramWithoutAJournal) {
  if (std::filesystem::exists("/run/systemd/journal/socket")) GTEST_SKIP() << "there is a journal";
  Process program(Watched({LAGWATCH_WAIT_LOOP, "poll", "300"}, {"--log", "journal"}));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.Output(), "good\n");
  EXPECT_THAT(program.Errors(), HasSubstr("no journal listens on this machine"));
}

}  // namespace
}  // namespace lagwatch::tools
