// SPDX-License-Identifier: Apache-2.0
// The agent in a JVM: a Swing program hangs, and the spool has the reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/jvm/agent_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::Process;

using JvmAgent = testing::JvmAgentTest;

TEST_F(JvmAgent, NamesTheLineThatSleeps) {
  const json report = HangOf("sleep");
  if (report.is_null()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  EXPECT_EQ(report["app"], "SwingProgram");
  EXPECT_EQ(report["loop"], "AWT-EventQueue-0");
  EXPECT_EQ(report["tag"], "AWT event");
  EXPECT_THAT(report["verdict"]["word"], AnyOf("sleep", "starved"));
  EXPECT_THAT(FramesOf(report), HasSubstr("java.lang.Thread.sleep (Thread.java)"));
  EXPECT_THAT(FramesOf(report), HasSubstr("< SwingProgram.importOrders (SwingProgram.java)" +
                                          LineOf("Thread.sleep(1200)") + " < "));
  EXPECT_THAT(FramesOf(report), HasSubstr("java.awt.EventDispatchThread.run (EventDispatchThread.java)"));
}

TEST_F(JvmAgent, NamesTheLoopThatHasNoSafepoint) {
  const json report = HangOf("counted");
  if (report.is_null()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  EXPECT_THAT(report["verdict"]["word"], AnyOf("cpu", "starved"));  // on a busy machine
  EXPECT_THAT(FramesOf(report), ContainsRegex("SwingProgram.countTo .*< SwingProgram.importOrders "));
}

TEST_F(JvmAgent, BlamesGarbageCollectionsForTheirTime) {
  if (!HasScreen()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  std::vector<std::string> command = Agent();
  command.insert(command.end(), {"-XX:+UseSerialGC", "-Xmx600m"});
  RunSwing(command, "gc");
  const json report = HangIn("SwingProgram.importOrders");
  ASSERT_FALSE(report.is_null());
  EXPECT_GT(report["verdict"]["gc_ms"], 0) << report["verdict"];
  EXPECT_EQ(report["facts"].value("gc_cause", ""), "System.gc()") << report["facts"];
}

TEST_F(JvmAgent, NamesTheOwnerOfAMonitor) {
  const json report = HangOf("monitor");
  if (report.is_null()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  EXPECT_THAT(report["verdict"]["word"], AnyOf("lock", "starved"));
  ASSERT_FALSE(report["waits"].empty());
  EXPECT_EQ(report["waits"][0]["owner"]["name"], "holder") << report["waits"];
  EXPECT_THAT(report["waits"][0]["owner"].dump(), HasSubstr("SwingProgram.holdMonitor"));
}

TEST_F(JvmAgent, NamesTheOwnerOfALock) {
  const json report = HangOf("lock");
  if (report.is_null()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  EXPECT_THAT(report["verdict"]["word"], AnyOf("lock", "starved"));
  ASSERT_FALSE(report["waits"].empty());
  EXPECT_EQ(report["waits"][0]["owner"]["name"], "holder") << report["waits"];
}

TEST_F(JvmAgent, NamesThreadsThatWaitForEachOther) {
  const json report = HangOf("deadlock");
  if (report.is_null()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  EXPECT_EQ(report["verdict"]["word"], "deadlock");
  EXPECT_EQ(report["deadlock"], true);
  EXPECT_EQ(report["waits"].size(), 2u);
}

TEST_F(JvmAgent, NoHangInManyShortEvents) {
  if (!HasScreen()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  RunSwing(Agent(), "busy");
  // All of them take two seconds together.
  const json report = HangIn("SwingProgram.spinFor");
  EXPECT_TRUE(report.is_null() || report["duration_ms"] < 1000) << report;
}

TEST_F(JvmAgent, WatchesTheLoopOfASelector) {
  std::vector<std::string> command = Agent();
  command.insert(command.end(), {"-cp", LAGWATCH_JVM_CLASSES, "SelectorProgram", "alone"});
  Process program(command);
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  const json report = HangIn("SelectorProgram.handleRequest");
  ASSERT_FALSE(report.is_null());
  EXPECT_EQ(report["loop"], "request-loop");
  EXPECT_THAT(FramesOf(report), HasSubstr("< SelectorProgram.handleRequest (SelectorProgram.java):"));
}

TEST_F(JvmAgent, KeepsNativeFramesBetweenJavaFrames) {
  std::vector<std::string> command = Agent();
  command.insert(command.end(),
                 {"-cp", LAGWATCH_JVM_CLASSES, "SelectorProgram", "native", LAGWATCH_JVM_CALLBACK});
  Process program(command);
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  const json report = HangIn("SelectorProgram.handleRequest");
  ASSERT_FALSE(report.is_null());
  EXPECT_THAT(FramesOf(report), ContainsRegex("< SelectorProgram.pause [^<]*< (SelectorProgram[^<]*< )*"
                                              "Java_SelectorProgram_visit[^<]*< SelectorProgram.visit [^<]*< "
                                              "SelectorProgram.handleRequest "));
}

TEST_F(JvmAgent, NamesTheLineThatHoldsASafepointUp) {
  std::vector<std::string> command = Agent();
  command.insert(command.end(),
                 {"-XX:+UseSerialGC", "-cp", LAGWATCH_JVM_CLASSES, "SelectorProgram", "safepoint"});
  Process program(command);
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  const json report = HangIn("SelectorProgram.waitForOthers");
  ASSERT_FALSE(report.is_null());
  EXPECT_THAT(report["verdict"]["word"], AnyOf("safepoint", "starved")) << report["verdict"];
  ASSERT_FALSE(report["waits"].empty());
  EXPECT_EQ(report["waits"][0]["kind"], "safepoint");
  EXPECT_EQ(report["waits"][0]["owner"]["name"], "checker") << report["waits"];
  EXPECT_THAT(report["waits"][0]["owner"].dump(), HasSubstr("SelectorProgram.checksum"));
}

TEST_F(JvmAgent, NoLoopAtASelectorOfSeveralThreads) {
  std::vector<std::string> command = Agent();
  command.insert(command.end(), {"-cp", LAGWATCH_JVM_CLASSES, "SelectorProgram", "shared"});
  Process program(command);
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_TRUE(HangIn("SelectorProgram.handleRequest").is_null());
}

TEST_F(JvmAgent, SaysWhatItCannotRead) {
  Process lenient({Agent(",treshold_ms=5")[0], Agent(",treshold_ms=5")[1], "-version"});
  EXPECT_EQ(lenient.Wait(), 0);
  EXPECT_THAT(lenient.Errors(), HasSubstr("lagwatch: invalid option 'treshold_ms=5', which is left out\n"));
  Process strict({Agent(",treshold_ms=5,strict=1")[0], Agent(",treshold_ms=5,strict=1")[1], "-version"});
  EXPECT_NE(strict.Wait(), 0);
  EXPECT_THAT(strict.Errors(), HasSubstr("lagwatch: invalid option 'treshold_ms=5'\n"));
}

TEST_F(JvmAgent, ComesByLagwatchRun) {
  if (!HasScreen()) GTEST_SKIP() << "there is no Xvfb, or a headless JDK";
  const std::string errors = RunSwing(
      {LAGWATCH_PROGRAM, "run", "--threshold-ms", "500", "--spool", spool_, "--", LAGWATCH_JAVA}, "spin");
  EXPECT_THAT(errors, HasSubstr("lagwatch: java loads lagwatch's agent, by JAVA_TOOL_OPTIONS"));
  EXPECT_THAT(FramesOf(HangIn("SwingProgram.importOrders")),
              HasSubstr("SwingProgram.importOrders (SwingProgram.java)" + LineOf("spinFor(1200)") + " < "));
}

TEST_F(JvmAgent, LeavesTheEnvironmentOfChildren) {
  Process program({LAGWATCH_PROGRAM, "run", "--quiet", "--spool", spool_, "--", LAGWATCH_JAVA, "-cp",
                   LAGWATCH_JVM_CLASSES, "Children"},
                  {"JAVA_TOOL_OPTIONS=-Dlagwatch.kept=1"});
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  EXPECT_EQ(program.Output(), "-Dlagwatch.kept=1\n");
}

}  // namespace
}  // namespace lagwatch
