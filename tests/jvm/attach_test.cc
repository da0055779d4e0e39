// SPDX-License-Identifier: Apache-2.0
// The agent in a JVM that runs already, by `lagwatch attach`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/jvm/agent_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Process;
using testing::WaitUntil;

std::string FirstLine(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

bool HasThread(pid_t pid, const std::string& name) {
  std::error_code error;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
    if (FirstLine(task.path() / "comm") == name) return true;
  }
  return false;
}

// The JVM with this argument; 0 without one.
pid_t FindJvm(const std::string& argument) {
  for (const auto& process : fs::directory_iterator("/proc")) {
    std::ifstream file(process.path() / "cmdline", std::ios::binary);
    const std::string command((std::istreambuf_iterator<char>(file)), {});
    if (command.find(argument) != command.npos && FirstLine(process.path() / "comm") == "java")
      return std::stoi(process.path().filename());
  }
  return 0;
}

class JvmAttach : public testing::JvmAgentTest {
 protected:
  // Of the command line; ends without a crash of its own.
  struct Result {
    int exit_code;
    std::string errors;
  };
  Result Lagwatch(const std::string& command, const std::string& target) const {
    std::vector<std::string> arguments = {LAGWATCH_PROGRAM, command, target};
    if (command == "attach")
      arguments.insert(arguments.end(), {"--threshold-ms", "500", "--spool", spool_, "--app", "attached"});
    Process process(arguments);
    const int exit_code = process.Wait();
    return {exit_code, process.Errors()};
  }
  // A JVM that computes. Returns when its program runs.
  static std::unique_ptr<Process> StartChurn(const std::vector<std::string>& options) {
    std::vector<std::string> command = {LAGWATCH_JAVA, "-Xmx64m"};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), {"-cp", LAGWATCH_JVM_CLASSES, "Churn"});
    auto churn = std::make_unique<Process>(command);
    EXPECT_TRUE(WaitUntil([&] { return HasThread(churn->pid(), "spinner"); }));
    return churn;
  }
  static bool IsWatched(const Process& process) { return HasThread(process.pid(), "lagwatch"); }
};

TEST_F(JvmAttach, NamesTheLineOfTheNextHang) {
  if (!HasScreen()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  const std::string marker = "-Dlagwatch.test=" + spool_;
  Process program({kVirtualScreen, "-a", LAGWATCH_JAVA, marker, "-cp", LAGWATCH_JVM_CLASSES, "SwingProgram",
                   "sleep", "after-input"});
  ASSERT_TRUE(WaitUntil([&] { return HasThread(FindJvm(marker), "AWT-EventQueue-"); }));
  const Result attached = Lagwatch("attach", std::to_string(FindJvm(marker)));
  EXPECT_EQ(attached.exit_code, 0) << attached.errors;
  program.WriteInput("\n");
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output() + program.Errors(), "");  // the agent prints nothing, nor the JVM about it
  const testing::json report = HangIn("SwingProgram.importOrders");
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report["app"], "attached");
  EXPECT_EQ(report["loop"], "AWT-EventQueue-0");
  EXPECT_THAT(FramesOf(report), HasSubstr("< SwingProgram.importOrders (SwingProgram.java)" +
                                          LineOf("Thread.sleep(1200)") + " < "));
}

TEST_F(JvmAttach, WatchesASelectorThatWaitsAlready) {
  Process program({LAGWATCH_JAVA, "-cp", LAGWATCH_JVM_CLASSES, "SelectorProgram", "alone", "after-input"});
  ASSERT_TRUE(WaitUntil([&] { return HasThread(program.pid(), "request-loop"); }));
  EXPECT_EQ(Lagwatch("attach", std::to_string(program.pid())).exit_code, 0);
  program.WriteInput("\n");
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output() + program.Errors(), "");
  const testing::json report = HangIn("SelectorProgram.handleRequest");
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report["loop"], "request-loop");
}

TEST_F(JvmAttach, IsEndedByDetachAndBegunAgain) {
  const auto churn = StartChurn({});
  const std::string pid = std::to_string(churn->pid());
  EXPECT_THAT(Lagwatch("detach", pid).errors, HasSubstr("the JVM is not watched"));
  EXPECT_EQ(Lagwatch("attach", pid).exit_code, 0);
  EXPECT_TRUE(IsWatched(*churn));
  const Result twice = Lagwatch("attach", pid);
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.errors, HasSubstr("process " + pid + ": the JVM is watched already"));
  EXPECT_EQ(Lagwatch("detach", pid).exit_code, 0);
  EXPECT_FALSE(IsWatched(*churn));
  EXPECT_EQ(Lagwatch("attach", pid).exit_code, 0);
  EXPECT_TRUE(IsWatched(*churn));
  EXPECT_EQ(churn->Output() + churn->Errors(), "");
}

// All users may write to /tmp: a pipe where a JVM has its performance data would keep the reader.
TEST_F(JvmAttach, WaitsForNoPipeInTheTemporaryDirectory) {
  const auto churn = StartChurn({"-XX:-UsePerfData"});
  const std::string pid = std::to_string(churn->pid());
  const fs::path folder = "/tmp/hsperfdata_lagwatch_" + pid;
  fs::create_directory(folder);
  ASSERT_EQ(mkfifo((folder / pid).c_str(), 0600), 0);
  const Result attached = Lagwatch("attach", pid);
  fs::remove_all(folder);
  EXPECT_EQ(attached.exit_code, 0) << attached.errors;
  EXPECT_TRUE(IsWatched(*churn));
}

TEST_F(JvmAttach, LeavesAloneAJvmThatTakesNoRequests) {
  // It has made its socket, without which only a signal that would end it is left.
  const auto deaf = StartChurn({"-Xrs"});
  fs::remove("/tmp/.java_pid" + std::to_string(deaf->pid()));
  EXPECT_THAT(Lagwatch("attach", std::to_string(deaf->pid())).errors, HasSubstr("-Xrs"));
  const auto disabled = StartChurn({"-XX:+DisableAttachMechanism"});
  EXPECT_THAT(Lagwatch("attach", std::to_string(disabled->pid())).errors,
              HasSubstr("-XX:+DisableAttachMechanism"));
  const auto without_data = StartChurn({"-XX:+DisableAttachMechanism", "-XX:-UsePerfData"});
  EXPECT_THAT(Lagwatch("attach", std::to_string(without_data->pid())).errors,
              HasSubstr("-XX:+DisableAttachMechanism"));
  for (const auto* process : {&deaf, &disabled, &without_data}) {
    EXPECT_TRUE(HasThread((*process)->pid(), "spinner"));
    EXPECT_EQ((*process)->Output(), "");  // no list of threads
  }
}

TEST_F(JvmAttach, NeedsNoSignalWithReducedSignals) {
  const auto churn = StartChurn({"-Xrs"});
  EXPECT_EQ(Lagwatch("attach", std::to_string(churn->pid())).exit_code, 0);
  EXPECT_TRUE(IsWatched(*churn));
}

TEST_F(JvmAttach, SaysWhyTheAgentFailed) {
  const auto churn = StartChurn({});
  spool_ = "/proc/lagwatch/spool";
  EXPECT_THAT(Lagwatch("attach", std::to_string(churn->pid())).errors,
              AllOf(HasSubstr("the JVM runs unwatched: "), HasSubstr(spool_)));
}

TEST_F(JvmAttach, SaysThatThereIsNoSuchProgram) {
  EXPECT_THAT(Lagwatch("attach", "no-such-program").errors, HasSubstr("is named 'no-such-program'"));
}

}  // namespace
}  // namespace lagwatch
