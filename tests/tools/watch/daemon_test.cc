// SPDX-License-Identifier: Apache-2.0
// lagwatchd: its rules, its unit's own command, and its reports in a collector.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/configured_collector.h"
#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::WaitUntil;

class DaemonTest : public RunTest {
 protected:
  void Write(const std::string& rules) const {
    std::ofstream(file_) << "spool_directory = '" << spool_ << "'\n" << rules;
  }
  // A program of its own name: other tests run meanwhile.
  std::string Named(const std::string& name, const std::string& program) const {
    fs::copy_file(program, directory_ / name, fs::copy_options::skip_existing);
    return directory_ / name;
  }
  // The command of the unit, with the program and the file of this test.
  std::vector<std::string> Command() const {
    std::ifstream unit(LAGWATCH_DAEMON_UNIT);
    std::vector<std::string> words;
    for (std::string line; std::getline(unit, line);) {
      if (!line.starts_with("ExecStart=")) continue;
      std::istringstream stream(line.substr(line.find('=') + 1));
      for (std::string word; stream >> word;) words.push_back(word);
    }
    EXPECT_EQ(words.at(0), "@BINDIR@/lagwatchd");
    EXPECT_EQ(words.back(), "/etc/lagwatch/watch.toml");
    words.front() = LAGWATCH_DAEMON;
    words.back() = file_;
    return words;
  }

  // Not while there is no spool yet.
  bool HasReportOf(const Process& program) const {
    Process question({LAGWATCH_PROGRAM, "reports", "--spool", spool_, "--json"});
    if (question.Wait() != 0) return false;
    const json reports = json::parse(question.Output(), nullptr, /*allow_exceptions=*/false);
    return reports.is_array() && std::ranges::any_of(reports, [&](const json& report) {
             return report.at("pid") == program.pid();
           });
  }
  static bool Says(const Process& daemon, const std::string& text) {
    return WaitUntil([&] { return daemon.Errors().find(text) != std::string::npos; });
  }

  std::string file_ = directory_ / "watch.toml";
};

TEST_F(DaemonTest, HangsOfThreeProgramsReachACollector) {
  testing::ConfiguredCollector collector(directory_ / "data");
  collector.Start();
  const std::string id = std::to_string(getpid());
  const std::string names[] = {"first-" + id, "second-" + id, "third-" + id};
  Write("endpoint = '" + collector.endpoint() + "'\nkey = '" + collector.kKey + "'\nthreshold_ms = 500\n" +
        "[[rule]]\nprogram = '" + names[0] + "'\n[[rule]]\nprogram = '" + names[1] +
        "'\n[[rule]]\nprogram = '" + names[2] + "'\n");
  Process daemon(Command());
  Process first({Named(names[0], LAGWATCH_WATCHED_PROGRAM), "sleeps", "4"});
  Process second({Named(names[1], LAGWATCH_WATCHED_SHARED_PROGRAM), "computes", "4"});
  Process third({Named(names[2], LAGWATCH_WATCHED_PROGRAM), "locks", "4"});
  for (Process* program : {&first, &second, &third}) EXPECT_EQ(program->Wait(), 0) << daemon.Errors();
  std::vector<std::string> apps;
  EXPECT_TRUE(WaitUntil([&] {
    Process question({LAGWATCH_PROGRAM, "reports", "--endpoint", collector.endpoint(), "--token",
                      collector.admin_token(), "--json"});
    if (question.Wait() != 0) return false;
    apps.clear();
    const json reports = json::parse(question.Output(), nullptr, /*allow_exceptions=*/false);
    if (!reports.is_array()) return false;
    for (const json& report : reports) apps.push_back(report.value("app", ""));
    return apps.size() >= 3;
  })) << daemon.Errors();
  EXPECT_THAT(apps, IsSupersetOf(names));
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0) << daemon.Errors();
}

TEST_F(DaemonTest, AppliesItsRulesAgainAfterSighup) {
  const std::string name = "calm-" + std::to_string(getpid());
  const std::string rule = "[[rule]]\nprogram = '" + name + "'\n";
  Write(rule);
  Process daemon(Command());
  Process program({Named(name, LAGWATCH_WATCHED_PROGRAM), "calm", "60"});
  const std::string label = name + " (" + std::to_string(program.pid()) + ") is ";
  EXPECT_TRUE(WaitUntil([&] {
    return daemon.Errors().find(label + "watched from outside") != std::string::npos;
  })) << daemon.Errors();
  Write(rule + "threshold_ms = 'soon'\n");
  daemon.Signal(SIGHUP);
  EXPECT_TRUE(
      WaitUntil([&] { return daemon.Errors().find("the rules stay as they were") != std::string::npos; }));
  EXPECT_THAT(daemon.Errors(),
              HasSubstr("watch.toml: line 4: there is no option 'threshold_ms', or it does not"));
  EXPECT_THAT(daemon.Errors(), Not(HasSubstr("no longer")));
  Write(rule + "watch = false\n[[rule]]\nuser = '4294967294'\n");
  daemon.Signal(SIGHUP);
  EXPECT_TRUE(WaitUntil([&] {
    return daemon.Errors().find(label + "no longer watched") != std::string::npos;
  })) << daemon.Errors();
  program.Signal(SIGKILL);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST_F(DaemonTest, TakesTheFirstRuleThatFits) {
  const std::string id = std::to_string(getpid());
  const std::string first = "first-" + id;
  const std::string second = "second-" + id;
  const std::string own = std::to_string(geteuid());
  Write("[[rule]]\nprogram = '" + first + "'\nuser = '4294967294'\nwatch = false\n" +
        "[[rule]]\nprogram = '" + second + "'\nwatch = false\n" +        // not watched
        "[[rule]]\nprogram = '" + second + "'\n" +                       // too late
        "[[rule]]\nprogram = '" + first + "'\nuser = '" + own + "'\n" +  // watched
        "[[rule]]\nprogram = '" + first + "'\nwatch = false\n");         // too late
  Process daemon(Command());
  Process two({Named(second, LAGWATCH_WATCHED_PROGRAM), "calm", "60"});
  Process one({Named(first, LAGWATCH_WATCHED_PROGRAM), "calm", "60"});
  EXPECT_TRUE(Says(daemon, first + " (" + std::to_string(one.pid()) + ") is watched from outside"))
      << daemon.Errors();
  EXPECT_THAT(daemon.Errors(), Not(HasSubstr(second)));
  for (Process* program : {&one, &two}) program->Signal(SIGKILL);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST_F(DaemonTest, ProcessesWithoutALoopTakeNoPlace) {
  const std::string name = "place-" + std::to_string(getpid());
  Write("most_processes = 1\nthreshold_ms = 500\n[[rule]]\nprogram = '" + name + "'\n");
  Process daemon(Command());
  Process first({Named(name, "/bin/sleep"), "60"});
  Process second({Named(name, "/bin/sleep"), "60"});
  EXPECT_TRUE(Says(daemon, name + " (" + std::to_string(second.pid()) + ") is watched from outside"));
  const std::string program = directory_ / ("loop/" + name);
  fs::create_directory(directory_ / "loop");
  fs::copy_file(LAGWATCH_WATCHED_PROGRAM, program);
  Process hanging({program, "sleeps", "3"});
  EXPECT_EQ(hanging.Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return HasReportOf(hanging); })) << daemon.Errors();
  EXPECT_THAT(daemon.Errors(), Not(HasSubstr("more than")));
  for (Process* other : {&first, &second}) other->Signal(SIGKILL);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST_F(DaemonTest, AUserWithAllPlacesGivesOneToAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start another user's programs";
  fs::permissions(directory_ / ".", fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  const std::string name = "shares-" + std::to_string(getpid());
  Write("most_processes = 2\nthreshold_ms = 500\n[[rule]]\nprogram = '" + name + "'\n");
  Process daemon(Command());
  const std::vector<std::string> as_other = {"/usr/bin/setpriv", "--reuid=65534", "--clear-groups"};
  const auto hang = [&](std::vector<std::string> command, const std::string& length) {
    for (const std::string& word :
         {Named(name, LAGWATCH_WATCHED_PROGRAM), std::string("sleeps"), std::string("3"), length})
      command.push_back(word);
    return command;
  };
  Process first(hang(as_other, "60"));
  Process second(hang(as_other, "60"));
  ASSERT_TRUE(WaitUntil([&] { return HasReportOf(first) && HasReportOf(second); })) << daemon.Errors();
  Process own(hang({}, "1.5"));
  EXPECT_EQ(own.Wait(), 0);
  EXPECT_TRUE(WaitUntil([&] { return HasReportOf(own); })) << daemon.Errors();
  for (Process* other : {&first, &second}) other->Signal(SIGKILL);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST_F(DaemonTest, PrintsNoControlCharactersOfAName) {
  const std::string name = "\x1b[31m" + std::to_string(getpid());
  Write("[[rule]]\nprogram = \"\\u001b[31m" + std::to_string(getpid()) + "\"\n");
  Process daemon(Command());
  Process program({Named(name, LAGWATCH_WATCHED_PROGRAM), "calm", "60"});
  EXPECT_TRUE(Says(daemon, "?[31m" + std::to_string(getpid()) + " (")) << daemon.Errors();
  program.Signal(SIGKILL);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  EXPECT_THAT(daemon.Errors(), Not(HasSubstr("\x1b")));
}

TEST_F(DaemonTest, ARuleHasNoMoreReportsThanItsQuota) {
  const std::string name = "often-" + std::to_string(getpid());
  const std::string rule = "threshold_ms = 500\n[[rule]]\nprogram = '" + name + "'\n";
  Write(rule + "quota = 1\n");
  Process daemon(Command());
  const auto freeze = [&] {
    Process program({Named(name, LAGWATCH_WATCHED_PROGRAM), "sleeps", "3"});
    EXPECT_EQ(program.Wait(), 0);
  };
  freeze();
  ASSERT_EQ(Ask({"reports"}).size(), 1u) << daemon.Errors();
  Write("# the same\n" + rule + "quota = 1\n");
  daemon.Signal(SIGHUP);
  EXPECT_TRUE(Says(daemon, "has 1 rules")) << daemon.Errors();
  freeze();
  EXPECT_TRUE(Says(daemon, "its rule's quota is used up")) << daemon.Errors();
  EXPECT_EQ(Ask({"reports"}).size(), 1u);
  // Another file of that name is another program.
  fs::create_directory(directory_ / "other");
  const std::string other = directory_ / ("other/" + name);
  fs::copy_file(LAGWATCH_WATCHED_PROGRAM, other);
  Process stranger({other, "sleeps", "3"});
  EXPECT_EQ(stranger.Wait(), 0);
  EXPECT_EQ(Ask({"reports"}).size(), 2u) << daemon.Errors();
  Write(rule + "quota = 2\n");
  daemon.Signal(SIGHUP);
  sleep(1);
  freeze();
  EXPECT_EQ(Ask({"reports"}).size(), 3u) << daemon.Errors();
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
}

TEST_F(DaemonTest, SeesShortDispatchesByTheKernelIfItIsTold) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may load programs into the kernel";
  const std::string name = "short-" + std::to_string(getpid());
  Write("bpf = true\n[[rule]]\nprogram = '" + name + "'\nthreshold_ms = 30\n");
  std::vector<std::string> command = Command();
  const std::string script = "mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec \"$@\"";
  command.insert(command.begin(), {"/usr/bin/unshare", "--mount", "/bin/sh", "-c", script, "sh"});
  Process daemon(command);
  ASSERT_TRUE(WaitUntil([&] {
    return daemon.Errors().find("bpf: ") != std::string::npos ||
           daemon.Errors().find("has BPF programs") != std::string::npos;
  })) << daemon.Errors();
  Process program({Named(name, LAGWATCH_WATCHED_PROGRAM), "short", "3"});
  EXPECT_EQ(program.Wait(), 0);
  daemon.Signal(SIGTERM);
  EXPECT_EQ(daemon.Wait(), 0);
  if (daemon.Errors().find("only looked at, without bpf: ") != std::string::npos)
    GTEST_SKIP() << daemon.Errors();
  // Looks alone know a duration to twice 10 ms.
  const json reports = Ask({"reports"});
  std::istringstream lines(program.Output());
  bool is_exact = false;
  for (std::string word; lines >> word;) {
    if (word != "short" || !(lines >> word)) continue;
    is_exact |= std::ranges::any_of(reports, [&](const json& report) {
      return std::abs(report.at("duration_ms").get<double>() - std::stod(word)) < 3;
    });
  }
  EXPECT_TRUE(is_exact) << reports.dump(1) << program.Output();
}

TEST_F(DaemonTest, SaysWhatIsWrongWithAFile) {
  const auto errors_of = [&](const std::string& rules) {
    Write(rules);
    Process check({LAGWATCH_DAEMON, "--check", "--config", file_});
    EXPECT_EQ(check.Wait(), 2);
    return check.Errors();
  };
  EXPECT_THAT(errors_of("[[rule]\n"), HasSubstr("watch.toml: line 2: "));
  EXPECT_THAT(errors_of("[[rule]]\nprogramme = 'x'\n"), HasSubstr("line 3: there is no option 'programme'"));
  EXPECT_THAT(errors_of("[[rule]]\nprogram = 7.5\n"), HasSubstr("line 3: 'program' needs a name"));
  EXPECT_THAT(errors_of("[rule]\nprogram = 'x'\n"), HasSubstr("line 2: rules begin with [[rule]]"));
  EXPECT_THAT(errors_of("quota = 0\n"), HasSubstr("line 2: quota is a number of reports a day, from 1"));
  EXPECT_THAT(errors_of("bpf = 1\n"), HasSubstr("line 2: bpf is true or false"));
  EXPECT_THAT(errors_of("interval_ms = 1\n"), HasSubstr("line 2: interval_ms is a number from 10 to 1000"));
  Process check({LAGWATCH_DAEMON, "--check", "--config", directory_ / "none.toml"});
  EXPECT_EQ(check.Wait(), 2);
  EXPECT_THAT(check.Errors(), HasSubstr("none.toml: cannot be read; it must say what to watch"));
}

}  // namespace
}  // namespace lagwatch::tools
