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

TEST(ProgramsTest, OptionsMayStandBeforeTheCommand) {
  const testing::ScopedTempDirectory home;
  const auto of = [&](Words words, int status) {
    words.insert(words.begin(), LAGWATCH_PROGRAM);
    Process process(words, {"HOME=" + home.path(), "XDG_STATE_HOME=", "LAGWATCH_SPOOL="});
    EXPECT_EQ(process.Wait(), status) << process.Errors();
    return process.Output();
  };
  EXPECT_EQ(of({"--json", "reports"}, 0), "[]\n");
  EXPECT_EQ(of({"--app", "reports", "--json", "--limit=3", "clusters"}, 0), "[]\n");
  EXPECT_EQ(of({"--version", "2.3", "--json", "clusters"}, 0), "[]\n");
  EXPECT_THAT(of({"--version"}, 0), HasSubstr("lagwatch "));
  EXPECT_THAT(of({"--help"}, 0), HasSubstr("Subcommands:"));
  // The arguments of a program are its own.
  EXPECT_EQ(of({"--quiet", "run", "--", "/bin/echo", "--json", "reports"}, 0), "--json reports\n");
}

TEST(ProgramsTest, ListsOfAnEmptySpoolAreEmptyArrays) {
  const testing::ScopedTempDirectory home;
  for (const char* command : {"reports", "clusters", "traces", "frames", "usage", "losses"}) {
    Process process({LAGWATCH_PROGRAM, command, "--json"},
                    {"HOME=" + home.path(), "XDG_STATE_HOME=", "LAGWATCH_SPOOL="});
    EXPECT_EQ(process.Wait(), 0) << command;
    EXPECT_EQ(process.Output(), "[]\n") << command;
  }
}

// The first option of each command, with two letters swapped.
TEST(ProgramsTest, EachCommandKnowsWhichOptionWasMeant) {
  std::istringstream lines(OutputOf({LAGWATCH_PROGRAM, "--help"}));
  int commands = 0;
  bool is_command = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("Subcommands:")) is_command = true;
    if (!is_command || !line.starts_with("  ") || line[2] == ' ') continue;
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    const std::string help = OutputOf({LAGWATCH_PROGRAM, command, "--help"});
    const size_t at = help.find("\n  --");
    if (at == std::string::npos) continue;
    std::string option = help.substr(at + 3, help.find_first_of(" ,\n", at + 3) - at - 3);
    std::string wrong = option;
    std::swap(wrong[3], wrong[4]);
    if (wrong == option || help.find(wrong) != std::string::npos) continue;
    ++commands;
    const std::string text = OutputOf({LAGWATCH_PROGRAM, command, wrong}, 2);
    EXPECT_THAT(text, HasSubstr("Did you mean " + option + "?")) << command;
    EXPECT_THAT(text, HasSubstr("`lagwatch " + command + " --help`")) << command;
  }
  EXPECT_GE(commands, 15);
}

// Its value is a word that the command cannot take.
TEST(ProgramsTest, AWrongOptionIsNamedBeforeAWordThatWasItsValue) {
  for (const auto& [words, meant] : std::vector<std::pair<Words, std::string>>{
           {{"report", "--ednpoint", "x"}, "--endpoint"},
           {{"report", "--ednpoint=x"}, "--endpoint"},
           {{"dump", "--sginal", "x"}, "--signal"},
           {{"attach", "--spol", "/tmp", "17"}, "--spool"},
           {{"watch", "--spol", "x", "--interval-ms", "ten", "1"}, "--spool"}}) {
    Words command = words;
    command.insert(command.begin(), LAGWATCH_PROGRAM);
    const std::string text = OutputOf(command, 2);
    EXPECT_THAT(text, HasSubstr("no option '" + words[1].substr(0, words[1].find('=')) + "'"));
    EXPECT_THAT(text, HasSubstr("Did you mean " + meant + "?"));
  }
  // Options of a program are its own.
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "run", "--threshold-ms", "ten", "--", "true", "--ednpoint"}, 2),
              HasSubstr("ten"));
}

TEST(ProgramsTest, AWrongValueIsNamedWithTheOneThatWasMeant) {
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "reports", "--color", "alwyas"}, 2),
              HasSubstr("Did you mean always?"));
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "run", "--log", "jurnal", "--", "true"}, 2),
              HasSubstr("Did you mean journal?"));
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "clusters", "--verdict", "lokc"}, 2),
              HasSubstr("did you mean 'lock'?"));
  EXPECT_THAT(OutputOf({LAGWATCH_PROGRAM, "help", "reprots"}, 2), HasSubstr("did you mean 'reports'?"));
}

TEST(ProgramsTest, ExitCodesAreThoseOfTheTable) {
  const std::string table = OutputOf({LAGWATCH_PROGRAM, "help", "exit-codes"});
  EXPECT_THAT(table, HasSubstr("All commands\n  0    "));
  EXPECT_THAT(table, HasSubstr("\nlagwatch why\n"));
  EXPECT_THAT(table, HasSubstr("  124  "));
  const auto status = [](Words words) {
    words.insert(words.begin(), LAGWATCH_PROGRAM);
    Process process(words);
    return process.Wait();
  };
  EXPECT_EQ(status({"run", "--", "/bin/sh", "-c", "exit 5"}), 5);
  EXPECT_EQ(status({"run", "--", "no-such-program"}), 127);
  EXPECT_EQ(status({"run"}), 2);
  EXPECT_EQ(status({"why", "no-such-program"}), 2);
  EXPECT_EQ(status({"why", "--timeout", "1s", "--", "/bin/sleep", "60"}), 124);
  EXPECT_EQ(status({"why", "--timeout", "20s", "--", "/bin/sh", "-c", "exit 3"}), 3);
  EXPECT_EQ(status({"attach", "no-such-program"}), 2);
  EXPECT_EQ(status({"detach", "no-such-program"}), 2);
  EXPECT_EQ(status({"doctor", "no-such-program"}), 2);
  EXPECT_EQ(status({"watch", "999999999"}), 2);
  EXPECT_EQ(status({"reports", "--spool", "/no/such/directory"}), 1);
  EXPECT_EQ(status({"upload", "--spool", "/no/such/directory", "--endpoint", "http://127.0.0.1:9"}), 1);
  EXPECT_EQ(status({"trace", "show", "/no/such/file"}), 2);
  EXPECT_EQ(status({"dump", "999999999"}), 1);
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
