// SPDX-License-Identifier: Apache-2.0
// Scripts that stay armed, several consoles, and consoles that die.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/owned_fd.h"
#include "tests/testing/temp_directory.h"
#include "tests/tools/probe/probe_testing.h"
#include "tests/tools/trace/terminal_process.h"

namespace lagwatch::tools {
namespace {

using ::testing::ContainsRegex;

TEST_F(ProbeTest, LeavesProbesForAnotherConsole) {
  const std::string before = Code();
  ASSERT_EQ(Ask({pid(), "add_numbers { count } event tick { print(number) }", "--leave", "--for", "100ms"}),
            0);
  EXPECT_THAT(errors_, HasSubstr("stays armed"));
  EXPECT_NE(Code(), before);
  Do("add 3");
  ASSERT_EQ(Ask({pid(), "--event", "tick=42"}), 0);
  EXPECT_THAT(output_, HasSubstr("1 probe of"));
  ASSERT_EQ(Ask({pid(), "--armed"}), 0);
  EXPECT_THAT(output_, HasSubstr("event tick"));
  ASSERT_EQ(Ask({pid(), "--reattach", "--for", "100ms"}), 0);
  EXPECT_THAT(output_, ::testing::AllOf(HasSubstr("42"), HasSubstr("3")));
  ASSERT_EQ(Ask({pid(), "--disarm"}), 0);
  EXPECT_EQ(Code(), before);
  EXPECT_EQ(Ask({pid(), "--reattach"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no script is armed"));
}

TEST_F(ProbeTest, RaisesTheLevelOfAnArmedScript) {
  const auto console = Start({pid(), "add_numbers level 2 { print(a) }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  Do("add 1");
  ASSERT_EQ(Ask({pid(), "--level", "2"}), 0);
  Do("add 2");
  console->Signal(SIGTERM);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_EQ(Records(console->Output()).size(), 2U);
}

TEST_F(ProbeTest, OutlivesAKilledConsoleAndServesTwo) {
  const std::string before = Code();
  const auto killed = Start({pid(), "add_numbers { count }"});
  const auto other = Start({pid(), "add_numbers @return { print(returned) }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*killed) && IsArmed(*other); }));
  killed->Signal(SIGKILL);
  EXPECT_EQ(killed->Wait(), -SIGKILL);
  Do("add 2");
  other->Signal(SIGINT);
  EXPECT_EQ(other->Wait(), 0);
  EXPECT_EQ(Records(other->Output()), (std::vector<std::string>{"2", "3"}));
  ASSERT_EQ(Ask({pid(), "--disarm"}), 0);  // the killed one's
  EXPECT_EQ(Code(), before);
}

// The thread has the loader's lock for as long.
TEST_F(ProbeTest, ServesAProgramWhoseThreadIsStuckInDlopen) {
  const std::string file = ::testing::TempDir() + "lagwatch-stuck-" + pid();
  base::OwnedFd(open(file.c_str(), O_CREAT | O_CLOEXEC | O_WRONLY, 0600));
  program_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_PROBED_PROGRAM},
                                       std::vector<std::string>{"STUCK_LIBRARY_FILE=" + file});
  ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; }));
  const std::string before = Code();
  const auto first = Start({pid(), "add_numbers { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*first); }));
  Do("load");
  const std::string script = "add_numbers @return { count } libc!memcpy { count } call usleep { count }";
  EXPECT_THAT(Probe(script, "add 3"), HasSubstr("count\n  3\n"));
  first->Signal(SIGINT);
  EXPECT_EQ(first->Wait(), 0);
  EXPECT_THAT(first->Output(), HasSubstr("3"));
  std::filesystem::remove(file);
  EXPECT_EQ(Code(), before);
}

// The first tenth of a second alone has more hits than the budget.
TEST_F(ProbeTest, SaysAtLeastWhereHitsAreMissing) {
  const std::string output = Probe("add_numbers { count }", "add 3000000");
  EXPECT_THAT(output, HasSubstr("count, at least\n"));
  EXPECT_THAT(Probe("add_numbers { count }", "add 3000000", {"--json"}), HasSubstr("\"is_at_least\":true"));
  EXPECT_THAT(Probe("add_numbers { count }", "add 3"), HasSubstr("count\n"));
  const testing::ScopedTempDirectory directory;
  Probe("add_numbers { calls: count }", "add 3000000", {"--prometheus", directory / "probe.prom"});
  std::ifstream file(directory / "probe.prom");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(text, ContainsRegex("\nlagwatch_probe_calls [0-9]+\n"));
  EXPECT_THAT(text, HasSubstr("\nlagwatch_probe_calls_is_at_least 1\n"));
}

TEST_F(ProbeTest, LearnsOfAFunctionThatIsCalledTooOften) {
  const auto console = Start({pid(), "budget 0.1% add_numbers { count; histogram(b) }", "--json"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  program_->WriteInput("add 2000000000\n");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("`budget 10%` at the script's begin allows 100 times as many"));
  const std::string output = console->Output();
  const size_t at = output.rfind("\"count\":");
  ASSERT_NE(at, std::string::npos) << output;
  // Of each tenth of a second but the first.
  EXPECT_GT(std::stoull(output.substr(at + 8)), 100'000U) << output;
  program_->Signal(SIGKILL);
  EXPECT_EQ(program_->Wait(), -SIGKILL);
}

TEST_F(ProbeTest, TellsTheEndOfTheConnectionFromTheProgramsEnd) {
  const auto console = Start({pid(), "add_numbers { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  program_->WriteInput("become\n");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("has become another one"));
  EXPECT_THAT(console->Errors(), ::testing::Not(HasSubstr("the program has ended")));
}

// As the process does to a console that was stopped for more than a minute.
void CloseConnectionOf(const Process& console) {
  const base::OwnedFd process(static_cast<int>(syscall(SYS_pidfd_open, console.pid(), 0)));
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/" + std::to_string(console.pid()) + "/fd")) {
    std::error_code error;
    if (!std::filesystem::read_symlink(each.path(), error).string().starts_with("socket:")) continue;
    const int number = std::stoi(each.path().filename());
    const base::OwnedFd fd(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0)));
    EXPECT_EQ(shutdown(fd.get(), SHUT_RDWR), 0);
  }
}

TEST_F(ProbeTest, GoesOnWhenItsConnectionWasClosed) {
  const std::string before = Code();
  const auto console = Start({pid(), "add_numbers { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  Do("add 2");
  CloseConnectionOf(*console);
  Do("add 3");
  ASSERT_TRUE(WaitUntil([&] {
    return Ask({pid(), "--armed"}) == 0 && ::testing::Matches(ContainsRegex(" 5 +1 "))(output_);
  })) << output_;
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Output(), HasSubstr("count\n  5\n"));
  EXPECT_EQ(Code(), before);
}

TEST_F(ProbeTest, ShowsTheLastNumbersOfAScriptThatAnotherConsoleDisarms) {
  const auto console = Start({pid(), "add_numbers { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  Do("add 7");
  ASSERT_EQ(Ask({pid(), "--disarm"}), 0);
  EXPECT_EQ(console->Wait(), 1);
  EXPECT_THAT(console->Output(), HasSubstr("count\n  7\n"));
  EXPECT_THAT(console->Errors(), HasSubstr("7 hits; another command has disarmed the script\n"));
}

TEST_F(ProbeTest, SaysHowOldTheTablesOfAKilledProgramAre) {
  const auto console = Start({pid(), "add_numbers { count }", "--json"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  Do("add 1");
  ASSERT_TRUE(WaitUntil([&] { return console->Output().find("\"aggregate\"") != std::string::npos; }));
  Do("add 6");
  usleep(250'000);  // two reads
  program_->Signal(SIGKILL);
  EXPECT_EQ(program_->Wait(), -SIGKILL);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("7 hits; the program has ended"));
  const bool is_current = console->Output().find("\"count\":7") != std::string::npos;
  const bool says_age = console->Errors().find("; the tables are of ") != std::string::npos;
  EXPECT_NE(says_age, is_current) << console->Output() << console->Errors();
}

TEST_F(ProbeTest, SaysWhyAHitFailedAndWhichScriptIsMeant) {
  Probe("add_numbers { sum(100 / a) }", "add 3");
  EXPECT_THAT(errors_, HasSubstr("1 of them ended by memory that could not be read, or by a division by 0"));
  ASSERT_EQ(Ask({pid(), "timer 1s { count }", "--leave", "--for", "50ms"}), 0);
  EXPECT_THAT(errors_, HasSubstr("armed at no function"));
  EXPECT_EQ(Ask({pid(), "--disarm", "--id", "77"}), 2);
  EXPECT_THAT(errors_, ContainsRegex("no script has the id 77: [0-9]+ is armed"));
  EXPECT_EQ(Ask({pid(), "--level", "101"}), 2);
  EXPECT_THAT(errors_, HasSubstr("from 0 to 100"));
  EXPECT_EQ(Ask({pid(), "--armed", "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(output_)["title"], "timer 1s { count }");
  EXPECT_EQ(Ask({pid(), "--disarm"}), 0);
}

TEST_F(ProbeTest, EndsTheScriptsThatItsOwnHasArmed) {
  const std::string before = Code();
  const auto console = Start({pid(), "add_numbers { arm opens for 1h }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  Do("add 1");
  ASSERT_TRUE(WaitUntil([&] { return Count(console->Errors(), "armed at") == 2; })) << console->Errors();
  console->Signal(SIGTERM);
  EXPECT_TRUE(WaitUntil([&] { return Count(console->Errors(), " hit") == 2; })) << console->Errors();
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_EQ(Code(), before);
}

TEST_F(ProbeTest, ShowsAsManyLinesAsTheTerminalHas) {
  testing::TerminalProcess console(
      {LAGWATCH_PROGRAM, "probe", pid(), "add_numbers { count by a }", "--for", "1600ms"});
  console.Resize(10, 80);
  ASSERT_TRUE(WaitUntil([&] { return console.Written().find("armed at") != std::string::npos; }));
  Do("add 30");
  EXPECT_EQ(console.Wait(), 0);
  EXPECT_THAT(console.Written(), HasSubstr("… and 23 lines more at the end"));
  EXPECT_THAT(console.Written(), HasSubstr("\x1b[9A\x1b[J"));
  EXPECT_EQ(Count(console.Written(), "  1  29\r\n"), 1U);
}

// A line of a histogram has 81 characters: two lines of this terminal, which could not be redrawn.
TEST_F(ProbeTest, CutsLinesThatAreWiderThanTheTerminal) {
  testing::TerminalProcess console(
      {LAGWATCH_PROGRAM, "probe", pid(), "add_numbers { histogram(a) }", "--for", "1.6s"});
  console.Resize(20, 40);
  ASSERT_TRUE(WaitUntil([&] { return console.Written().find("armed at") != std::string::npos; }));
  Do("add 8");
  EXPECT_EQ(console.Wait(), 0);
  EXPECT_THAT(console.Written(), ContainsRegex("\\[4, 8\\) +4 …\r\n"));
  EXPECT_EQ(Count(console.Written(), std::string(40, '*') + "|\r\n"), 1U) << "whole at the end";
}

TEST_F(ProbeTest, CountsNothingInAForkedChild) {
  const std::string output = Probe("add_numbers { print(a) }", "fork 3");
  EXPECT_TRUE(Records(output).empty()) << output;
}

std::string SocketFolder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime != nullptr && *runtime == '/' ? std::string(runtime) + "/lagwatch"
                                               : "/tmp/lagwatch-" + std::to_string(geteuid());
}

TEST_F(ProbeTest, LeavesNoSocketAtTheProgramsEnd) {
  ASSERT_EQ(Ask({pid(), "add_numbers { count }", "--for", "50ms"}), 0) << errors_;
  const std::string path = SocketFolder() + "/probe-" + pid();
  EXPECT_EQ(access(path.c_str(), F_OK), 0) << path;
  program_->WriteInput("exit 0\n");
  EXPECT_EQ(program_->Wait(), 0);
  EXPECT_NE(access(path.c_str(), F_OK), 0) << path;
}

TEST_F(ProbeTest, ListensForItsOwnUserOnly) {
  const auto console = Start({pid(), "add_numbers { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  const std::string folder = SocketFolder();
  struct stat status {};
  ASSERT_EQ(lstat(folder.c_str(), &status), 0) << folder;
  EXPECT_TRUE(S_ISDIR(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  ASSERT_EQ(lstat((folder + "/probe-" + pid()).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0);
}

// Before the first table is due, too.
TEST_F(ProbeTest, ShowsWhatAScriptThatIsOffHasCounted) {
  const auto console = Start({pid(), "add_numbers { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  for (int i = 0; i < 100 && console->Errors().find("turned itself off") == std::string::npos; ++i)
    Do("add 300000");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("turned itself off"));
  EXPECT_THAT(console->Output(), ContainsRegex("^count, at least\n +[1-9]"));
}

}  // namespace
}  // namespace lagwatch::tools
