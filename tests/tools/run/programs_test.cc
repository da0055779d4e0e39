// SPDX-License-Identifier: Apache-2.0
// `lagwatch run` is a small program of its own, which becomes lagwatch-commands for all other commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

using ::testing::HasSubstr;
using testing::Process;
using Words = std::vector<std::string>;

std::string OutputOf(const Words& command, int status = 0) {
  Process process(command);
  EXPECT_EQ(process.Wait(), status) << process.Errors();
  return process.Output() + process.Errors();
}

TEST(ProgramsTest, RunNeedsNoOtherLibraryThanTheCLibrary) {
  Process process({LAGWATCH_PROGRAM, "run"}, {"LD_TRACE_LOADED_OBJECTS=1"});  // the loader prints them
  EXPECT_EQ(process.Wait(), 0);
  const std::string libraries = process.Output();
  EXPECT_THAT(libraries, HasSubstr("libc.so.6"));
  EXPECT_LE(std::ranges::count(libraries, '\n'), 4)
      << libraries;  // the loader and the kernel's are among them
}

TEST(ProgramsTest, BothSayTheSameOfRun) {
  for (const Words& arguments :
       {Words{"run", "--help"}, Words{"--version"}, Words{"run", "--no-such-flag"}}) {
    Words small = {LAGWATCH_PROGRAM};
    Words large = {LAGWATCH_COMMANDS};
    for (Words* command : {&small, &large})
      command->insert(command->end(), arguments.begin(), arguments.end());
    const int status = arguments.back() == "--no-such-flag" ? 2 : 0;
    EXPECT_EQ(OutputOf(small, status), OutputOf(large, status));
  }
}

TEST(ProgramsTest, AnUnknownCommandIsNamedWithThoseThatThereAre) {
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "reprots"}, 2),
              HasSubstr("lagwatch: no command 'reprots'; did you mean 'reports'?"));
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "zzz"}, 2),
              HasSubstr("lagwatch: no command 'zzz'; there are: run, "));
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "trace", "recrod", "--", "true"}, 2),
              HasSubstr("lagwatch: no command 'recrod'; did you mean 'record'?"));
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "trace"}, 2), HasSubstr("A subcommand is required"));
}

TEST(ProgramsTest, HelpIsOfAllCommands) {
  const std::string help = OutputOf({LAGWATCH_PROGRAM, "--help"});
  for (const char* command :
       {"run", "watch", "daemon", "attach", "trace", "reports", "upload", "symbols", "dump"})
    EXPECT_THAT(help, HasSubstr(std::string("\n  ") + command));
}

TEST(ProgramsTest, AloneItSaysWhatToDoFirst) {
  const std::string text = OutputOf({LAGWATCH_PROGRAM}, 2);
  const std::string help = OutputOf({LAGWATCH_PROGRAM, "--help"});
  EXPECT_LE(std::ranges::count(text, '\n'), 10) << text;
  int steps = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  lagwatch ")) continue;
    ++steps;
    const std::string command = line.substr(11, line.find(' ', 11) - 11);
    EXPECT_THAT(help, HasSubstr("\n  " + command + " "));
  }
  EXPECT_GE(steps, 3) << text;
  EXPECT_THAT(text, HasSubstr("lagwatch run -- PROGRAM"));
}

// A signed config is read there.
TEST(ProgramsTest, RunWithAConfigKeyIsTheSame) {
  const testing::ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  const Words run = {LAGWATCH_PROGRAM, "run", "--spool", spool, "--config-key"};
  auto with = [&run](const std::string& key) {
    Words command = run;
    command.insert(command.end(), {key, "--", "sh", "-c", "echo $0 ran; exit 3", "program"});
    return command;
  };
  EXPECT_EQ(OutputOf(with(std::string(64, '1')), 3), "program ran\n");
  EXPECT_THAT(OutputOf(with("none"), 2), HasSubstr("--config-key: a public key has 64 hexadecimal digits"));
}

TEST(ProgramsTest, SaysSoWhenTheOtherIsMissing) {
  const testing::ScopedTempDirectory directory;
  std::filesystem::create_directory(directory / "bin");
  std::filesystem::copy_file(LAGWATCH_PROGRAM, directory / "bin/lagwatch");
  EXPECT_THAT(OutputOf({directory / "bin/lagwatch", "reports"}, 1), HasSubstr("install lagwatch again"));
}

}  // namespace
}  // namespace lagwatch
