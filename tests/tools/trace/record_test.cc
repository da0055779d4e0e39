// SPDX-License-Identifier: Apache-2.0
// `lagwatch trace record -- CMD` of programs that end badly, or do what recorders do not like.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "tests/tools/trace/recorded.h"
#include "trace/model/joint_tree.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using testing::kMs;
using testing::Process;
using testing::TotalsByName;
using testing::TraceDirectory;
using testing::WaitUntil;

class RecordTest : public ::testing::Test {
 protected:
  // The recorder's exit code; what it said is in errors_.
  int Record(const std::vector<std::string>& command, const std::vector<std::string>& flags = {}) {
    Process recorder(directory_.RecordCommand(flags, command));
    const int code = recorder.Wait();
    errors_ = recorder.Errors();
    return code;
  }
  // Of all threads. OddBusy() uses 300 ms of a processor at a time.
  int64_t BusyNs() const { return TotalsByName(directory_.Read())["OddBusy"]; }
  static std::vector<std::string> Odd(const char* what) { return {LAGWATCH_ODD, what}; }

  TraceDirectory directory_;
  std::string errors_;
};

// All except the threads' own captures of the last tenth of a second.
TEST_F(RecordTest, KilledProgramLeavesItsTrace) {
  EXPECT_EQ(Record(Odd("kill")), 128 + SIGKILL) << errors_;
  EXPECT_GT(BusyNs(), 100 * kMs) << errors_;
}

TEST_F(RecordTest, CrashedProgramLeavesItsTrace) {
  EXPECT_EQ(Record(Odd("crash")), 128 + SIGSEGV) << errors_;
  EXPECT_GT(BusyNs(), 100 * kMs) << errors_;
}

TEST_F(RecordTest, ExitCodeIsTheProgramsOwn) {
  EXPECT_EQ(Record({"/bin/sh", "-c", "exit 3"}), 3) << errors_;
  EXPECT_EQ(Record({"/no/such/program"}), 127);
}

TEST_F(RecordTest, ASignalIsForTheProgram) {
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) {
    Process recorder(directory_.RecordCommand({}, {"/usr/bin/python3", "-c",
                                                   "import signal, time\n"
                                                   "time.sleep(0.3)\n"
                                                   "print('ready', flush=True)\n"
                                                   "time.sleep(60)"}));
    ASSERT_TRUE(WaitUntil([&] { return recorder.Output() == "ready\n"; }));
    recorder.Signal(number);
    EXPECT_EQ(recorder.Wait(), 128 + number) << recorder.Errors();
    EXPECT_FALSE(directory_.Read().threads.empty());
  }
}

TEST_F(RecordTest, PartsThatALinkedProgramNamesAreInTheTrace) {
  auto parts_of = [](const trace::Trace& trace) {
    std::map<std::string, int64_t> parts_ns;
    for (uint32_t thread = 0; thread < trace.threads.size(); ++thread) {
      for (const trace::CallNode& node : BuildJointTree(trace, thread, trace.begin_ns, trace.end_ns))
        if (node.count > 0) parts_ns[trace.frames[node.frame].name] += node.total_ns;
    }
    return parts_ns;
  };
  ASSERT_EQ(Record({LAGWATCH_NAMING, "300"}), 0) << errors_;
  auto parts = parts_of(directory_.Read());
  ASSERT_EQ(parts.size(), 2u) << errors_;
  EXPECT_GT(parts["load document"], 290 * kMs);
  EXPECT_GE(parts["whole run"], parts["load document"]);
  Process convert(
      {LAGWATCH_PROGRAM, "trace", "convert", directory_.file(), "--to", "chrome", "-o", "/dev/stdout"});
  EXPECT_EQ(convert.Wait(), 0) << convert.Errors();
  EXPECT_THAT(convert.Output(), HasSubstr("load document"));
}

TEST_F(RecordTest, WithoutCallsNoPartIsInTheTrace) {
  ASSERT_EQ(Record({LAGWATCH_NAMING, "300"}, {"--calls", "off"}), 0) << errors_;
  for (const trace::Thread& thread : directory_.Read().threads) EXPECT_TRUE(thread.calls.empty());
}

TEST_F(RecordTest, ALinkIsWrittenTo) {
  Process recorder({"/bin/sh", "-c",
                    std::string("exec ") + LAGWATCH_PROGRAM + " trace record -o /dev/stdout -- " +
                        LAGWATCH_ODD + " well > " + directory_.file()});
  EXPECT_EQ(recorder.Wait(), 0) << recorder.Errors();
  EXPECT_GT(BusyNs(), 500 * kMs);
}

TEST_F(RecordTest, OneThreadIsLeftOfTheWholeTrace) {
  ASSERT_EQ(Record(Odd("small-stacks")), 0) << errors_;
  const trace::Trace all = directory_.Read();
  ASSERT_GT(all.threads.size(), 1u);
  const std::string one = directory_ / "one.lwtrace";
  auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {LAGWATCH_PROGRAM, "trace"});
    Process program(arguments);
    const int code = program.Wait();
    errors_ = program.Errors();
    return std::pair(code, program.Output());
  };
  const std::string tid = std::to_string(all.threads[1].tid);
  EXPECT_EQ(run({"convert", directory_.file(), "--tid", tid, "-o", one}).first, 0) << errors_;
  const std::string shown = run({"show", one}).second;
  for (const trace::Thread& thread : all.threads) {
    const bool is_there = shown.find("\n" + std::to_string(thread.tid) + " ") != std::string::npos;
    EXPECT_EQ(is_there, &thread == &all.threads[1]) << shown;
  }
  EXPECT_EQ(run({"convert", directory_.file(), "--tid", "1", "-o", one}).first, 2);
  EXPECT_THAT(errors_, HasSubstr("holds no thread 1"));
}

TEST_F(RecordTest, ChildrenAreNotRecordedAndTheirParentIsOnceMore) {
  EXPECT_EQ(Record(Odd("fork")), 0) << errors_;
  const trace::Trace trace = directory_.Read();
  auto totals = TotalsByName(trace);
  EXPECT_GT(totals["OddBusy"], 500 * kMs) << errors_;
  EXPECT_EQ(totals.count("OddChildBusy"), 0u);
  EXPECT_TRUE(
      std::ranges::all_of(trace.threads, [&](const auto& thread) { return thread.tid == trace.pid; }));
}

TEST_F(RecordTest, WhatTheProgramBecomesIsRecorded) {
  const std::string script =
      "for i in 1 2 3; do /bin/true; done; exec " + std::string(LAGWATCH_ODD) + " well";
  EXPECT_EQ(Record({"/bin/sh", "-c", script}), 0) << errors_;
  EXPECT_GT(BusyNs(), 500 * kMs) << errors_;
  EXPECT_EQ(directory_.Read().process_name, "odd_program");
}

TEST_F(RecordTest, GoesOnWhenAllDescriptorsAreClosed) {
  EXPECT_EQ(Record(Odd("close-all")), 0) << errors_;
  EXPECT_GT(BusyNs(), 500 * kMs) << errors_;
}

TEST_F(RecordTest, ASignalThatTheProgramTakesIsSentNoMore) {
  EXPECT_EQ(Record(Odd("take-all-signals")), 0) << errors_;
  EXPECT_THAT(errors_, HasSubstr("not sampled while they ran"));
}

TEST_F(RecordTest, AProgramMayResetAllOfItsSignals) {
  EXPECT_EQ(Record(Odd("reset-all-signals")), 0) << errors_;
  EXPECT_GT(BusyNs(), 700 * kMs) << errors_;
}

TEST_F(RecordTest, ThreadsWithSmallStacksAreRecorded) {
  EXPECT_EQ(Record(Odd("small-stacks")), 0) << errors_;
  EXPECT_GE(directory_.Read().threads.size(), 5u);
  EXPECT_GT(BusyNs(), 1'500 * kMs) << errors_;
}

TEST_F(RecordTest, ProgramThatEndsAtOnceIsNoError) {
  EXPECT_EQ(Record(Odd("at-once")), 0) << errors_;
  EXPECT_EQ(directory_.Read().process_name, "odd_program");
}

TEST_F(RecordTest, StaticProgramIsRefused) {
  EXPECT_EQ(Record({LAGWATCH_STATIC_PROGRAM}), 2);
  EXPECT_THAT(errors_, HasSubstr("static"));
}

TEST_F(RecordTest, SurvivesLibrariesChildrenAndThreadsThatComeAndGo) {
  const char* wanted = std::getenv("LAGWATCH_SOAK_SECONDS");
  const std::string seconds = wanted != nullptr ? wanted : "20";
  EXPECT_EQ(Record({LAGWATCH_CHURNING, seconds, LAGWATCH_SOAK_PLUGIN}, {"--interval-ms", "1"}), 0) << errors_;
  const trace::Trace trace = directory_.Read();
  EXPECT_GT(trace.threads.size(), 100u);
  EXPECT_GE(trace.end_ns - trace.begin_ns, std::atoi(seconds.c_str()) * 900 * kMs);
}

}  // namespace
}  // namespace lagwatch::tools
