// SPDX-License-Identifier: Apache-2.0
// The Java binding on a JDK, over AOSP's native Looper: tests/android/host freezes, and the spool has the
// reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/android/android_testing.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Process;
using ::testing::UnorderedElementsAre;
using testing::WaitUntil;

class JavaTest : public AndroidTest {
 protected:
  // Runs the app with these steps and options, to its end. Returns its output.
  std::string RunApp(const std::vector<std::string>& steps,
                     const std::vector<std::string>& properties = {}) const {
    std::vector<std::string> arguments = {LAGWATCH_JAVA,
                                          "--enable-native-access=ALL-UNNAMED",
                                          "-Xshare:auto",
                                          "-XX:TieredStopAtLevel=1",
                                          "-XX:+UseSerialGC",
                                          "-Djava.library.path=" LAGWATCH_ANDROID_LIBRARIES,
                                          "-Dandroid.files=" + (directory_ / "files")};
    arguments.insert(arguments.end(), properties.begin(), properties.end());
    arguments.insert(arguments.end(),
                     {"-cp", LAGWATCH_ANDROID_CLASSES, "org.lagwatch.host.Host", "spool_directory=" + spool_,
                      "threshold_ms=200", "check_period_ms=50"});
    arguments.insert(arguments.end(), steps.begin(), steps.end());
    Process app(arguments);
    EXPECT_EQ(app.Wait(), 0) << app.Errors();
    EXPECT_EQ(app.Errors(), "");
    return app.Output();
  }
  // The frames of a stack, "FUNCTION:LINE" each.
  static std::string FramesOf(const json& stack) {
    std::string frames;
    for (const json& frame : stack) {
      frames += frame["function"].is_string() ? frame["function"].get<std::string>() : "?";
      frames += " < ";
    }
    return frames;
  }
  // The first report of this kind with this tag; on a machine that is too busy there are others.
  json ReportOf(const std::string& kind, const std::string& tag) const {
    const std::vector<json> reports = Reports();
    json report = Find(reports, kind, tag);
    EXPECT_FALSE(report.is_null()) << reports.size() << " reports, none of them " << kind << " of " << tag;
    return report.is_null() ? json::object() : report;
  }
};

TEST_F(JavaTest, AMessageThatSleepsIsNamedByItsJavaFrames) {
  RunApp({"screen", "message"});
  json report = ReportOf("lag", "MainHandler: 42");
  EXPECT_EQ(report["loop"], "main");
  EXPECT_EQ(report["tag"], "Host$MainHandler: 42");
  EXPECT_EQ(report["app"], "com.example.app");
  EXPECT_EQ(report["version"], "7.1");
  EXPECT_GE(report["duration_ms"], 600);
  const std::string frames = FramesOf(report["expensive_stack"]);
  EXPECT_THAT(
      frames,
      HasSubstr("java.lang.Thread.sleep (Thread.java) < org.lagwatch.host.Freezes.sleepHere (Freezes.java) "
                "< org.lagwatch.host.Host$MainHandler.handleMessage (Host.java) < "));
  EXPECT_THAT(frames, HasSubstr("android.os.Looper.loop (Looper.java) < "));
  // The line, as in this frame's source; a method of the JDK may have none.
  for (const json& frame : report["expensive_stack"]) {
    const bool is_own = frame["function"].dump().find("org.lagwatch.host.Freezes") != std::string::npos;
    EXPECT_TRUE(!is_own || frame["offset"] != "0x0");
  }
}

TEST_F(JavaTest, ACallbackThatWaitsForALockIsReportedWithItsOwnersStack) {
  RunApp({"screen", "lock"});
  json report = ReportOf("lag", "Lambda");
  EXPECT_THAT(report["tag"].get<std::string>(), HasSubstr("Host$$Lambda"));
  EXPECT_THAT(FramesOf(report["expensive_stack"]), HasSubstr("org.lagwatch.host.Freezes.waitForLockHere"));
  std::string owner;
  for (const json& thread : report["threads"]) {
    if (thread["name"] == "lock-holder") owner = FramesOf(thread["stack"]);
  }
  EXPECT_THAT(owner, HasSubstr("org.lagwatch.host.Freezes.holdLockHere (Freezes.java)"));
}

TEST_F(JavaTest, ANativeCallHasNativeFramesWithinTheJavaOnes) {
  RunApp({"screen", "native"});
  EXPECT_THAT(
      FramesOf(ReportOf("lag", "Lambda")["expensive_stack"]),
      HasSubstr("Freezes_blockInNativeCode < org.lagwatch.host.Freezes.blockInNativeCode (Freezes.java) < "));
}

TEST_F(JavaTest, ABusyMessageIsNamedByItsJavaFrames) {
  RunApp({"screen", "spin"});
  json report = ReportOf("lag", "Lambda");
  EXPECT_THAT(FramesOf(report["expensive_stack"]),
              HasSubstr("org.lagwatch.host.Freezes.spinHere (Freezes.java) < "));
}

TEST_F(JavaTest, AnIdleHandlerIsReportedAsOne) {
  RunApp({"screen", "idle-handler", "idle_handler_threshold_ms=200", "android_queue_ping_ms=0"});
  json report = ReportOf("idle-handler", "");
  EXPECT_THAT(FramesOf(report["expensive_stack"]), HasSubstr("org.lagwatch.IdleWatch$Wrapper.queueIdle"));
}

TEST_F(JavaTest, AMessageThatWaitsBehindABarrierIsReported) {
  RunApp({"screen", "barrier", "nothing", "android_queue_ping_ms=50"});
  json report = ReportOf("waited", "");
  EXPECT_THAT(FramesOf(report["expensive_stack"]), HasSubstr("android.os.MessageQueue.next"));
}

TEST_F(JavaTest, AQueueThatIsAlwaysReadyAndAnIdleOneAreNoHangs) {
  RunApp({"screen", "ready-queue", "nothing", "frames", "threshold_ms=600"});
  EXPECT_TRUE(Reports().empty());
}

TEST_F(JavaTest, ASlowFrameIsReported) {
  RunApp({"screen", "slow-frame", "threshold_ms=2000", "slow_frame_ms=100", "android_queue_ping_ms=0"});
  json report = ReportOf("frames", "");
  EXPECT_THAT(FramesOf(report["expensive_stack"]),
              HasSubstr("android.view.Choreographer$FrameHandler.handleMessage"));
}

TEST_F(JavaTest, FramesAreSummedPerScreenAndTouch) {
  RunApp({"screen", "frames", "touch", "frames"});
  std::vector<std::string> scenes;
  for (json frames : Ask({"frames", "--spool", spool_})) {
    EXPECT_GE(frames["frames"], 2);
    EXPECT_GT(frames["stage_ms"]["draw"], 0);
    scenes.push_back(frames["scene"]);
  }
  EXPECT_THAT(scenes, UnorderedElementsAre("MainScreen", "MainScreen (touch)"));
}

TEST_F(JavaTest, TheOverlayShowsFramesPerSecond) {
  EXPECT_THAT(RunApp({"screen", "frames", "nothing", "overlay", "android_fps_overlay=1"}),
              ContainsRegex("overlay: [1-9] fps"));
}

TEST_F(JavaTest, ATouchOutsideOfAMessageIsADispatch) {
  RunApp({"screen", "touch"});
  json report = ReportOf("lag", "dispatchTouchEvent");
  EXPECT_EQ(report["tag"], "dispatchTouchEvent");
  EXPECT_THAT(FramesOf(report["expensive_stack"]), HasSubstr("MainScreen.dispatchTouchEvent"));
}

TEST_F(JavaTest, ABinderCallIsAScopeWithADeadline) {
  RunApp(
      {"screen", "binder", "threshold_ms=2000", "android_binder_deadline_ms=100", "android_queue_ping_ms=0"});
  json report = ReportOf("scope", "binder call");
  EXPECT_EQ(report["tag"], "binder call");
}

TEST_F(JavaTest, TheAppsOwnPrinterIsKept) {
  EXPECT_THAT(RunApp({"printer-before", "screen", "message"}), HasSubstr("printed: true"));
  EXPECT_FALSE(Find(Reports(), "lag", "MainHandler").is_null());
}

TEST_F(JavaTest, APrinterThatReplacesTheWatchIsFollowed) {
  EXPECT_THAT(RunApp({"screen", "printer-after", "message", "android_printer_check_ms=100",
                      "android_queue_ping_ms=50"}),
              HasSubstr("printed: true"));
  EXPECT_FALSE(Find(Reports(), "lag", "MainHandler").is_null());
}

TEST_F(JavaTest, TheManifestStartsItWithoutCode) {
  EXPECT_THAT(RunApp({"provider", "screen", "message"}), Not(HasSubstr("off: ")));
  EXPECT_EQ(ReportOf("lag", "MainHandler: 42")["tag"], "Host$MainHandler: 42");
}

TEST_F(JavaTest, ForegroundStartAndFactsComeFromTheSystem) {
  RunApp({"message", "screen", "priority", "message", "leave", "message", "android_queue_ping_ms=50"});
  std::vector<json> reports = Reports();
  std::erase_if(reports, [](const json& report) { return report["tag"] != "Host$MainHandler: 42"; });
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0]["kind"], "startup-lag");
  EXPECT_EQ(reports[1]["kind"], "lag");
  EXPECT_EQ(reports[1]["facts"]["foreground"], 1);
  EXPECT_EQ(reports[2]["facts"]["foreground"], 0);
  EXPECT_THAT(reports[1]["facts"]["app.screen_launch"].get<std::string>(), HasSubstr("MainScreen "));
  EXPECT_EQ(reports[1]["facts"]["app.android_exit"], "anr 0");
  EXPECT_EQ(reports[1]["facts"]["app.main_priority"], "5, was 0");
  EXPECT_EQ(reports[1]["facts"]["app.device"], "Example Phone 3");
  EXPECT_EQ(reports[1]["facts"]["app.android"], "14");
  EXPECT_FALSE(reports[1]["facts"].contains("app.java_failures"));
}

TEST_F(JavaTest, AStartForAServiceIsNoStartForAUser) {
  RunApp({"message"}, {"-Dandroid.background=true", "-Dandroid.sdk=21"});
  json facts = ReportOf("lag", "MainHandler")["facts"];
  EXPECT_EQ(facts["foreground"], 0);
  EXPECT_FALSE(facts.contains("app.android_exit"));  // of newer systems
}

TEST_F(JavaTest, AnAppThatEndsInAMessageLosesNothing) {
  RunApp({"screen", "message", "exit"});
  EXPECT_FALSE(ReportOf("lag", "MainHandler").empty());
}

TEST_F(JavaTest, ADumpHasTheJavaStacksOfAllThreads) {
  EXPECT_THAT(RunApp({"screen", "dump", "android_queue_ping_ms=50"}), HasSubstr("dump: true"));
  json report = ReportOf("dump", "asked");
  bool has_ping_thread = false;
  for (const json& thread : report["threads"]) {
    has_ping_thread |= thread["name"] == "lagwatch-ping" &&
                       FramesOf(thread["stack"]).find("java.lang.Thread.run") != std::string::npos;
  }
  EXPECT_TRUE(has_ping_thread);
}

TEST_F(JavaTest, ASecondStartWatchesAgain) {
  EXPECT_THAT(RunApp({"printer-before", "restart", "restart", "screen", "message"}),
              HasSubstr("printed: true"));
  EXPECT_EQ(ReportOf("lag", "MainHandler: 42")["tag"], "Host$MainHandler: 42");
}

TEST_F(JavaTest, AnUnknownOptionIsAFactAndNothingIsThrown) {
  EXPECT_THAT(RunApp({"screen", "message", "no_such_option=1"}), HasSubstr("stopped: "));
  EXPECT_EQ(ReportOf("lag", "MainHandler")["facts"]["app.unknown_options"], "1");
}

TEST_F(JavaTest, AHangArrivesAtTheCollectorAsACause) {
  Process collector({LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", directory_ / "data",
                     "--key", "k_test", "--admin-token", "a_test"});
  ASSERT_TRUE(WaitUntil([&] { return collector.Output().ends_with('\n'); })) << collector.Errors();
  std::string endpoint = collector.Output().substr(collector.Output().find("http://"));
  endpoint.pop_back();
  RunApp({"screen", "message", "endpoint=" + endpoint, "key=k_test", "user_rate_ppm=1000000"});
  const json clusters = Ask({"clusters", "--endpoint", endpoint, "--token", "a_test"});
  ASSERT_GE(clusters.size(), 1u);
  EXPECT_THAT(clusters.dump(), HasSubstr("org.lagwatch.host.Freezes.sleepHere"));
}

}  // namespace
}  // namespace lagwatch
