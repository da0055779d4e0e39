// SPDX-License-Identifier: Apache-2.0
// `lagwatch run` on programs that become others, or start them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

const Words kFreezing = {LAGWATCH_WAIT_LOOP, "poll", "600"};

Words Join(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class ExecTest : public RunTest {
 protected:
  std::string Script(const std::string& text) const {
    std::string path = directory_ / "wrapper";
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
    return path;
  }
  // Apps of the reports, after a watched run of `command`.
  Words AppsReported(const Words& command, const Words& flags = {}) const {
    Process process(Watched(command, flags));
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    EXPECT_EQ(process.Errors(), "");
    Words apps;
    if (!std::filesystem::exists(spool_)) return apps;
    for (const json& report : Ask({"reports"})) apps.push_back(report["app"]);
    return apps;
  }
};

class ExecFunctionTest : public ExecTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ExecFunctionTest, IsFollowed) {
  EXPECT_EQ(AppsReported(Join({LAGWATCH_EXEC_CHAIN, GetParam()}, kFreezing)), Words{"wait_loop"});
}

TEST_P(ExecFunctionTest, PassesTheEnvironmentOnAsItWas) {
  for (const Words& environment : {Words{}, Words{"LD_PRELOAD="}, Words{"LD_PRELOAD=libm.so.6"}}) {
    for (const Words& shown : {Words{"/usr/bin/env"}, Words{"/usr/bin/od", "-c", "/proc/self/environ"}}) {
      const Words command = Join({LAGWATCH_EXEC_CHAIN, GetParam()}, shown);
      Process plain(command, environment);
      Process watched(Watched(command), environment);
      EXPECT_EQ(plain.Wait(), 0);
      EXPECT_EQ(watched.Wait(), 0);
      EXPECT_EQ(watched.Output(), plain.Output());
      EXPECT_EQ(watched.Errors(), plain.Errors());
    }
  }
}

TEST_P(ExecFunctionTest, FailsAsItDid) {
  const Words command = {LAGWATCH_EXEC_CHAIN, GetParam(), "/no/such/program"};
  Process plain(command);
  Process watched(Watched(command));
  EXPECT_EQ(watched.Wait(), plain.Wait());
  EXPECT_EQ(watched.Errors(), plain.Errors());
}

TEST_F(ExecTest, FailsAsItDidWithAnEnvironmentThatIsNotThere) {
  for (const char* kind : {"unreadable_text", "unreadable_array"}) {
    const Words command = {LAGWATCH_EXEC_CHAIN, kind, "/bin/true"};
    Process plain(command);
    Process watched(Watched(command));
    EXPECT_EQ(watched.Wait(), plain.Wait());
    EXPECT_EQ(watched.Errors(), plain.Errors());
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFunction, ExecFunctionTest,
                         ::testing::Values("execve", "execv", "execvp", "execvpe", "execl", "execlp",
                                           "execle", "fexecve", "execveat", "posix_spawn", "posix_spawnp",
                                           "vfork", "fork", "syscall", "syscall_at"),
                         [](const auto& function) { return std::string(function.param); });

TEST_F(ExecTest, FollowsLaunchers) {
  const std::string loop = std::string(LAGWATCH_WAIT_LOOP) + " poll 600";
  EXPECT_EQ(AppsReported({"sh", "-c", "exec " + loop}), Words{"wait_loop"});
  EXPECT_EQ(AppsReported({"sh", "-c", "true; " + loop + "; true"}).size(), 2u);
  EXPECT_EQ(AppsReported(Join({"env", "A=b"}, kFreezing)).size(), 3u);
  EXPECT_EQ(AppsReported(Join({"env", "-i"}, kFreezing)).size(), 4u);
  EXPECT_EQ(AppsReported(Join({"timeout", "60"}, kFreezing)).size(), 5u);
  EXPECT_EQ(AppsReported(Join({"nice"}, kFreezing)).size(), 6u);
  EXPECT_EQ(AppsReported({Script("#!/bin/sh\nexec " + loop + "\n")}).size(), 7u);
  EXPECT_EQ(AppsReported({Script("#!/usr/bin/env sh\n" + loop + "\n")}), Words(8, "wait_loop"));
}

TEST_F(ExecTest, FollowsNothingWhenToldSo) {
  EXPECT_EQ(AppsReported(Join({"env"}, kFreezing), {"--children", "none"}), Words{});
  EXPECT_EQ(AppsReported(Join({"timeout", "60"}, kFreezing), {"--children", "none"}), Words{});
}

TEST_F(ExecTest, FollowsTheChildrenOfALoopOnlyWhenAllAreMeant) {
  for (const char* way : {"vfork", "fork", "posix_spawn"}) {
    const Words command = Join({LAGWATCH_EXEC_CHAIN, "loop", way}, kFreezing);
    // The loop itself hangs while it waits for the child's end.
    EXPECT_THAT(AppsReported(command), Not(::testing::Contains("wait_loop"))) << way;
  }
  for (const char* way : {"vfork", "fork", "posix_spawn"}) {
    const Words command = Join({LAGWATCH_EXEC_CHAIN, "loop", way}, kFreezing);
    EXPECT_THAT(AppsReported(command, {"--children", "all"}), ::testing::Contains("wait_loop")) << way;
  }
}

TEST_F(ExecTest, KeepsANameThatWasGiven) {
  EXPECT_EQ(AppsReported(Join({"env"}, kFreezing), {"--app", "named"}), Words{"named"});
}

TEST_F(ExecTest, LeavesProgramsAloneThatCannotLoadTheLibrary) {
  for (const std::string program :
       {LAGWATCH_STATIC_PROGRAM, LAGWATCH_FOREIGN_LOADER_PROGRAM, LAGWATCH_SANITIZED_PROGRAM}) {
    const Words command = {"sh", "-c", program + " \"$@\"; echo $?", "sh"};
    Process plain(command);
    Process watched(Watched(command));
    EXPECT_EQ(watched.Wait(), plain.Wait());
    EXPECT_EQ(watched.Output(), plain.Output());
    EXPECT_EQ(watched.Errors(), plain.Errors());
  }
}

TEST_F(ExecTest, ARunThatEndsByExecInAHangWasNotKilled) {
  Process process(Watched({LAGWATCH_EXEC_CHAIN, "freeze", "execv", "/bin/true"}));
  EXPECT_EQ(process.Wait(), 0);
  // The next start reports how the run has ended.
  EXPECT_EQ(Process(Watched(kFreezing)).Wait(), 0);
  const json reports = Ask({"reports"});
  EXPECT_GE(reports.size(), 2u);  // on a busy machine a hang has a second one, of another stack
  for (const json& report : reports) EXPECT_EQ(report["kind"], "lag") << report;
}

TEST_F(RunTest, RefusesLoadersOfOtherCLibraries) {
  Process process(Watched({LAGWATCH_FOREIGN_LOADER_PROGRAM}));
  EXPECT_EQ(process.Wait(), 2);
  EXPECT_THAT(process.Errors(), HasSubstr("its loader is /lib/ld-musl-none.so.1"));
  EXPECT_THAT(process.Errors(), HasSubstr("run it without lagwatch"));
}

TEST_F(RunTest, RefusesProgramsWithAnOlderCLibrary) {
  Process process(Watched({LAGWATCH_OLD_GLIBC_PROGRAM}));
  EXPECT_EQ(process.Wait(), 2);
  EXPECT_THAT(process.Errors(),
              HasSubstr("old_glibc/libc.so.6, is glibc 2.28, and liblagwatch-preload.so needs 2."));
}

TEST_F(RunTest, SaysBeforehandThatReportsCannotBeKept) {
  const std::string file = directory_ / "file";
  std::ofstream(file) << "in the way\n";
  const std::string open_to_all = directory_ / "open";
  std::filesystem::create_directory(open_to_all);
  chmod(open_to_all.c_str(), 0777);
  for (const std::string& spool : {file + "/spool", open_to_all, std::string("/proc/no/spool")}) {
    const Words command = {LAGWATCH_PROGRAM, "run", "--spool", spool, "--", LAGWATCH_WAIT_LOOP, "poll"};
    Process process(command);
    EXPECT_EQ(process.Wait(), 0);
    EXPECT_EQ(process.Output(), "good\n");
    EXPECT_THAT(process.Errors(), HasSubstr("lagwatch: wait_loop runs unwatched: "));
    EXPECT_THAT(process.Errors(), HasSubstr(spool));
    const std::string errors = process.Errors();
    EXPECT_EQ(errors.find('\n'), errors.size() - 1);
    Words quiet = command;
    quiet.insert(quiet.begin() + 2, "--quiet");
    Process silent(quiet);
    EXPECT_EQ(silent.Wait(), 0);
    EXPECT_EQ(silent.Errors(), "");
  }
}

TEST_F(RunTest, LeavesNothingBehindWhenItLooksAtTheSpool) {
  EXPECT_EQ(Process(Watched({"/bin/true"})).Wait(), 0);
  EXPECT_FALSE(std::filesystem::exists(spool_));
}

}  // namespace
}  // namespace lagwatch::tools
