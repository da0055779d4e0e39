// SPDX-License-Identifier: Apache-2.0
// `lagwatch run` leaves nothing behind but its reports. That no process and no temporary file is left is
// looked at after each test, by tests/testing/leftovers.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

class LeftoversTest : public RunTest {
 protected:
  Texts RunRecords() const {
    Texts names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(spool_) / "runs", error))
      names.push_back(entry.path().filename());
    return names;
  }
  size_t FilesSent() const {
    std::error_code error;
    return static_cast<size_t>(std::distance(fs::directory_iterator(sent_, error), {}));
  }
  // A batch is there once the sidecar has sent the report.
  bool WaitForSent(size_t count) const {
    return testing::WaitUntil([&] { return FilesSent() >= count; });
  }

  const Texts freezing_ = {LAGWATCH_WAIT_LOOP, "poll", "600"};
  std::string sent_ = directory_ / "sent";
  const Texts endpoint_ = {"--endpoint", "file://" + sent_};
};

TEST_F(LeftoversTest, TheSidecarIsNotWatchedAndEndsWithTheProgram) {
  for (const char* children : {"none", "exec", "all"}) {
    spool_ = directory_ / std::string("spool-").append(children);  // the last one's sidecar may still end
    Texts flags = endpoint_;
    flags.insert(flags.end(), {"--children", children});
    Process process(Watched(freezing_, flags), {"LAGWATCH_VERBOSE=0", "LAGWATCH_THREADS=all"});
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    EXPECT_EQ(process.Output(), "good\n");
    EXPECT_TRUE(WaitForSent(1)) << children;
    EXPECT_EQ(RunRecords().size(), 1u) << children;
    std::error_code ignored;
    fs::remove_all(sent_, ignored);
  }
}

TEST_F(LeftoversTest, NorIsThatOfARunWithinAWatchedShell) {
  const std::string inner = std::string(LAGWATCH_PROGRAM) + " run --threshold-ms 200 --spool " + spool_ +
                            " --endpoint file://" + sent_ + " -- " + LAGWATCH_WAIT_LOOP + " poll 600; true";
  Process process(Watched({"sh", "-c", inner}, {"--children", "all"}));
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  EXPECT_TRUE(WaitForSent(1));
  EXPECT_EQ(RunRecords().size(), 1u);
}

TEST_F(LeftoversTest, CommandsOfLagwatchAreNotWatched) {
  // It waits in poll() until its standard input is closed.
  Process process(Watched(
      {LAGWATCH_PROGRAM, "upload", "--spool", spool_, "--endpoint", "file://" + sent_, "--follow-fd=0"},
      {"--threads", "all"}));
  process.CloseInput();
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  EXPECT_EQ(RunRecords(), Texts());
}

TEST_F(LeftoversTest, TheSidecarEndsWhereNoCollectorAnswers) {
  Process process(Watched(freezing_, {"--endpoint", "http://127.0.0.1:1"}));
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  EXPECT_EQ(Ask({"reports"}).size(), 1u);
}

TEST_F(LeftoversTest, TheSidecarSendsForAFollowedProgramThatGoesOnAlone) {
  const std::string script = std::string(LAGWATCH_WAIT_LOOP) + " poll 2000 & until ls " + spool_ +
                             "/runs/*.run 2> /dev/null; do sleep 0.05; done";
  Process process(Watched({"sh", "-c", script}, endpoint_));
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  EXPECT_TRUE(WaitForSent(1));
  EXPECT_TRUE(testing::WaitUntil([&] { return Ask({"reports"}).empty(); }));  // all are sent
}

TEST_F(LeftoversTest, TheSidecarOfAKilledProgramEnds) {
  Process process(Watched({LAGWATCH_WAIT_LOOP, "poll", "60000"}, endpoint_));
  EXPECT_TRUE(testing::WaitUntil([&] { return RunRecords().size() == 1; }));
  process.Signal(SIGKILL);
  EXPECT_EQ(process.Wait(), -SIGKILL);
}

TEST_F(LeftoversTest, TheSpoolKeepsReportsAndARecordThatTheNextRunReads) {
  Texts before;
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(Process(Watched(freezing_)).Wait(), 0);
    const Texts records = RunRecords();
    EXPECT_EQ(records.size(), 1u);
    EXPECT_NE(records, before);
    before = records;
    for (const auto& entry : fs::directory_iterator(spool_)) {
      if (entry.is_directory()) continue;
      EXPECT_GT(entry.file_size(), 0u) << entry.path();
    }
  }
  EXPECT_EQ(Ask({"reports"}).size(), 2u);
}

TEST_F(LeftoversTest, ChildrenGetTheEnvironmentDescriptorsAndSignalsThatTheyWouldHave) {
  const std::string look = R"(
import os
print(sorted(os.environ.items()), sorted(os.listdir('/proc/self/fd')), os.getcwd(), os.umask(0))
print([line for line in open('/proc/self/status') if line[:7] in ('SigBlk:', 'SigIgn:', 'SigCgt:', 'ShdPnd:')])
)";
  const Texts command = {
      "/usr/bin/python3", "-c",
      "import select, subprocess, sys\n"
      "for i in range(3): select.select([], [], [], 0.01)\n"
      "sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]], close_fds=False) + 7)\n",
      look};
  Process bare(command);
  EXPECT_EQ(bare.Wait(), 7) << bare.Errors();
  for (const char* children : {"none", "exec", "all"}) {
    Texts flags = endpoint_;
    flags.insert(flags.end(), {"--children", children});
    Process watched(Watched(command, flags));
    EXPECT_EQ(watched.Wait(), 7) << watched.Errors();
    EXPECT_EQ(watched.Output(), bare.Output()) << children;
    EXPECT_EQ(watched.Errors(), bare.Errors()) << children;
  }
}

}  // namespace
}  // namespace lagwatch::tools
