// SPDX-License-Identifier: Apache-2.0
// `lagwatch why` of real processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

using testing::Process;
using testing::WaitUntil;
using json = nlohmann::json;

struct Answer {
  int exit_code;
  json content;
  std::string errors;

  std::string sentence() const { return content.value("sentence", ""); }
  bool Says(const std::string& words) const { return sentence().find(words) != std::string::npos; }
};

Answer Ask(const std::string& target, const std::vector<std::string>& options = {}) {
  std::vector<std::string> command = {LAGWATCH_PROGRAM, "why", "--json", target};
  command.insert(command.end(), options.begin(), options.end());
  Process why(command);
  const int exit_code = why.Wait();
  return {exit_code, json::parse(why.Output(), nullptr, /*allow_exceptions=*/false), why.Errors()};
}

// A program in a state, which it has come to.
class Frozen {
 public:
  explicit Frozen(const std::string& state, const std::string& program = LAGWATCH_FROZEN_PROGRAM)
      : process_({program, state}) {
    EXPECT_TRUE(WaitUntil([&] { return process_.Output().starts_with("begun"); }));
  }

  std::string pid() const { return std::to_string(process_.pid()); }
  Process& process() { return process_; }
  Answer Explain() { return Ask(pid()); }

 private:
  Process process_;
};

TEST(WhyTest, NamesWhoHoldsALock) {
  Frozen program("lock");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1) << answer.errors;
  EXPECT_TRUE(answer.Says("the main thread (" + program.pid() + ") has waited")) << answer.sentence();
  EXPECT_TRUE(answer.Says("in TakeLock")) << answer.sentence();
  EXPECT_TRUE(answer.Says("a mutex that thread")) << answer.sentence();
  EXPECT_TRUE(answer.Says("(keeper) holds in KeepLock")) << answer.sentence();
  EXPECT_EQ(answer.content.at("report").at("verdict").at("word"), "lock");
}

TEST(WhyTest, NamesADeadlock) {
  Frozen program("deadlock");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_TRUE(answer.Says("(auditor) holds in TakeSecondFirst, which waits for a mutex that the main thread"))
      << answer.sentence();
  EXPECT_TRUE(answer.Says("a deadlock, which never ends by itself")) << answer.sentence();
}

TEST(WhyTest, NamesTheFunctionThatComputes) {
  Frozen program("compute");
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_TRUE(answer.Says("in Compute")) << answer.sentence();
}

TEST(WhyTest, NamesTheFunctionsOfAStaticProgramWithoutABuildId) {
  Frozen program("compute", LAGWATCH_FROZEN_STATIC);
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_TRUE(answer.Says("in Compute, called by main")) << answer.sentence();
}

TEST(WhyTest, TakesAWaitThatIsMadeAgainAndAgainForOne) {
  Frozen program("retry");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1) << answer.sentence();
  EXPECT_TRUE(answer.Says("in RetryLock, called by main for a mutex that thread")) << answer.sentence();
  EXPECT_TRUE(answer.Says("(keeper) holds in KeepLock")) << answer.sentence();
}

TEST(WhyTest, NamesWhoHoldsTheInterpretersLock) {
  Process python({"/usr/bin/python3", "-c",
                  "import ctypes, threading, time\n"
                  "def archive():\n"
                  "    time.sleep(0.2)\n"
                  "    ctypes.PyDLL(None).sleep(60)\n"  // it keeps the lock
                  "def redraw():\n"
                  "    while True: time.sleep(0.01)\n"
                  "threading.Thread(target=archive, daemon=True).start()\n"
                  "print('begun', flush=True)\n"
                  "redraw()\n"});
  ASSERT_TRUE(WaitUntil([&] { return python.Output().ends_with('\n'); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const Answer answer = Ask(std::to_string(python.pid()));
  EXPECT_EQ(answer.exit_code, 1) << answer.sentence();
  EXPECT_TRUE(answer.Says("for the interpreter's lock that thread")) << answer.sentence();
  EXPECT_TRUE(answer.Says("holds in archive")) << answer.sentence();
  python.Signal(SIGKILL);
  EXPECT_NE(python.Wait(), 0);
}

TEST(WhyTest, NamesTheChildThatIsWaitedFor) {
  Frozen program("child");
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_TRUE(answer.Says("in AwaitChild, called by main for its child sleep (pid ")) << answer.sentence();
}

TEST(WhyTest, SaysThatIdleAndBusyProgramsRespond) {
  for (const char* state : {"idle", "workers", "serve"}) {
    Frozen program(state);
    const Answer answer = program.Explain();
    EXPECT_EQ(answer.exit_code, 0) << state << ": " << answer.sentence();
    EXPECT_EQ(answer.content.at("standing"), "responds");
  }
}

// It reads the orders of a process that has none for it now.
TEST(WhyTest, DoesNotSayThatAnIdleWorkerIsFrozen) {
  Process parent({"/usr/bin/python3", "-c",
                  "import os, time\n"
                  "ends = os.pipe()\n"
                  "worker = os.fork()\n"
                  "if worker == 0:\n"
                  "    os.close(ends[1])\n"
                  "    os.read(ends[0], 1)\n"
                  "    os._exit(0)\n"
                  "print('begun', worker, flush=True)\n"
                  "while True: time.sleep(0.01)\n"});
  ASSERT_TRUE(WaitUntil([&] { return parent.Output().ends_with('\n'); }));
  const std::string worker = parent.Output().substr(std::string("begun ").size());
  const Answer answer = Ask(worker.substr(0, worker.find('\n')));
  EXPECT_EQ(answer.content.at("standing"), "may-be-frozen") << answer.sentence();
  parent.Signal(SIGKILL);
  EXPECT_NE(parent.Wait(), 0);
}

TEST(WhyTest, DoesNotSayThatAServerIsFrozenByOneWorker) {
  Frozen program("held-worker");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.content.at("standing"), "may-be-frozen") << answer.sentence();
  EXPECT_TRUE(answer.Says("its main thread waits for events, but thread ")) << answer.sentence();
}

TEST(WhyTest, FoldsThreadsThatDoTheSame) {
  Frozen program("workers");
  const Answer answer = program.Explain();
  const json& groups = answer.content.at("groups");
  ASSERT_EQ(groups.size(), 1u) << groups.dump(1);
  EXPECT_EQ(groups[0].at("threads").size(), 40u);
  EXPECT_TRUE(groups[0].at("idle").get<bool>());
  EXPECT_NE(groups[0].at("stack").dump().find("AwaitWork"), std::string::npos);
}

TEST(WhyTest, SaysOfAProcessThatIsStoppedHowItGoesOn) {
  Frozen program("idle");
  ASSERT_EQ(kill(program.process().pid(), SIGSTOP), 0);
  ASSERT_TRUE(WaitUntil([&] {
    std::ifstream stat("/proc/" + program.pid() + "/stat");
    const std::string text((std::istreambuf_iterator<char>(stat)), {});
    return text.find(") T ") != std::string::npos;
  }));
  const Answer answer = program.Explain();
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_TRUE(answer.Says("is stopped by a signal")) << answer.sentence();
  EXPECT_EQ(answer.content.at("next").at(0), "kill -CONT " + program.pid());
}

TEST(WhyTest, SaysOfAZombieWhoLeavesItThere) {
  Frozen program("zombie");
  const std::string child = program.process().Output().substr(std::string("begun ").size());
  const Answer answer = Ask(child.substr(0, child.find('\n')));
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_TRUE(answer.Says("is dead, and waits for its parent frozen_program (pid " + program.pid() + ")"))
      << answer.sentence();
}

TEST(WhyTest, LeavesTheProgramAsItWas) {
  Frozen program("idle");
  const std::filesystem::path folder = "/proc/" + program.pid();
  const auto descriptors = [&] {
    return std::distance(std::filesystem::directory_iterator(folder / "fd"),
                         std::filesystem::directory_iterator());
  };
  const auto before = descriptors();
  program.Explain();
  EXPECT_EQ(descriptors(), before);
  std::ifstream status(folder / "status");
  const std::string text((std::istreambuf_iterator<char>(status)), {});
  EXPECT_NE(text.find("TracerPid:\t0\n"), std::string::npos);
  EXPECT_NE(text.find("Threads:\t1\n"), std::string::npos);
}

TEST(WhyTest, KeepsAReportIfItIsAsked) {
  const testing::ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  Frozen program("lock");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(Ask(program.pid(), {"--save", "--spool", spool}).exit_code, 1);
  Process reports({LAGWATCH_PROGRAM, "reports", "--json", "--spool", spool});
  EXPECT_EQ(reports.Wait(), 0) << reports.Errors();
  const json headers = json::parse(reports.Output());
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].at("app"), "frozen_program");
  EXPECT_EQ(headers[0].at("kind"), "lag");
}

TEST(WhyTest, SaysThatNoCollectorTakesTheReport) {
  Frozen program("idle");
  const Answer answer = Ask(program.pid(), {"--to", "http://127.0.0.1:1", "--key", "k"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_NE(answer.errors.find("the report was not sent"), std::string::npos) << answer.errors;
}

TEST(WhyTest, LooksAgainAndAgain) {
  Frozen program("idle");
  Process why({LAGWATCH_PROGRAM, "why", "--top", "--for", "0.1", program.pid()});
  EXPECT_TRUE(WaitUntil([&] {
    const std::string text = why.Output();
    return text.find("responds") != text.rfind("responds");
  })) << why.Output();
  program.process().Signal(SIGKILL);
  EXPECT_NE(program.process().Wait(), 0);
  EXPECT_NE(why.Wait(), 1) << why.Output();
}

TEST(WhyTest, SaysWhatItCannotLookAt) {
  const Answer unknown = Ask("no-such-program-anywhere");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.errors.find("give a process id, a program's name or a unit"), std::string::npos);
  const Answer gone = Ask("99999999");
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_NE(gone.errors.find("no such process"), std::string::npos) << gone.errors;
  std::ifstream name("/proc/2/comm");
  std::string kernel;
  if (std::getline(name, kernel) && kernel == "kthreadd") {
    EXPECT_EQ(Ask("2").exit_code, 2);
  }
}

TEST(WhyTest, PrintsTheSentenceFirst) {
  Frozen program("lock");
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  Process why({LAGWATCH_PROGRAM, "why", program.pid()});
  EXPECT_EQ(why.Wait(), 1);
  EXPECT_TRUE(why.Output().starts_with("frozen_program (pid " + program.pid() +
                                       ") does not respond: the main thread"))
      << why.Output();
  EXPECT_NE(why.Output().find("\nWait chain\n"), std::string::npos);
  EXPECT_NE(why.Output().find("\nStack of the main thread"), std::string::npos);
  EXPECT_NE(why.Output().find("\nNext\n"), std::string::npos);
}

}  // namespace
}  // namespace lagwatch::tools
