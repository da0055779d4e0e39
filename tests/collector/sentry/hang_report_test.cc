// SPDX-License-Identifier: Apache-2.0
// From what the SDKs send to what the collector shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collector/sentry/event_identity.h"
#include "collector/sentry/intake.h"
#include "tests/collector/memory_collector.h"
#include "tests/collector/sentry/payloads.h"

namespace lagwatch::collector {
namespace {

using testing::EnvelopeOf;
using ::testing::IsEmpty;
using ::testing::Not;

// The report that an event becomes, as the API shows it.
class SentryReportTest : public ::testing::Test {
 protected:
  IngestResult Submit(const std::string& event) {
    const std::string body = EnvelopeOf(event);
    const auto intake = TakeEnvelope(ParseEnvelope(body).value(), "1");
    EXPECT_TRUE(intake.ok()) << intake.status().message();
    EXPECT_THAT(intake->dropped, IsEmpty());
    return collector_.ingest.Submit(intake->batch).value();
  }
  Json Report(const std::string& event) {
    Submit(event);
    const Json reports = collector_.Get("/v1/reports");
    return collector_.Get("/v1/reports/" + reports[0]["id"].get<std::string>());
  }
  // The functions of the level-1 cause.
  Json Cause() { return collector_.Get("/v1/clusters", "level=1")[0]["frames"]; }

  testing::MemoryCollector collector_;
};

TEST_F(SentryReportTest, ANativeHangHasPlacesInImages) {
  const Json report = Report(testing::kNativeHang);
  EXPECT_EQ(report["app"], "editor");
  EXPECT_EQ(report["version"], "2.3.1+45");
  EXPECT_EQ(report["user"], "u-71");
  EXPECT_EQ(report["os"], "Linux 6.1.0");
  EXPECT_EQ(report["kind"], "lag");
  EXPECT_EQ(report["level"], "lag");
  EXPECT_EQ(report["elapsed_ms"], 5234);
  EXPECT_EQ(report["ended"], false);
  EXPECT_EQ(report["start_wall_ms"].get<int64_t>(), 1787303304250 - 5234);
  const Json& stack = report["expensive_stack"];
  ASSERT_EQ(stack.size(), 3u);
  EXPECT_EQ(stack[0]["module"], "/lib/x86_64-linux-gnu/libc.so.6");
  EXPECT_EQ(stack[0]["offset"], "0xa1007");
  EXPECT_EQ(stack[0]["build_id"], "f1c3bcc0279865fe3058404b2831d9e6");  // as much as a debug id has of it
  EXPECT_EQ(stack[1]["build_id"], "f1c3bcc0279865fe3058404b2831d9e64135386c");
  EXPECT_EQ(stack[1]["offset"], "0x3404");  // in the call, not after it
  EXPECT_EQ(stack[2]["offset"], "0x1200");
  EXPECT_EQ(report["facts"]["sentry_sdk"], "sentry.native 0.16.1");
  EXPECT_EQ(report["facts"]["environment"], "production");
}

TEST_F(SentryReportTest, ACocoaHangThatIsOverHasItsThreadsAndItsEnd) {
  const Json report = Report(testing::kCocoaHang);
  EXPECT_EQ(report["app"], "com.example.editor");
  EXPECT_EQ(report["os"], "iOS 18.1");
  EXPECT_EQ(report["machine"], "arm64e");
  EXPECT_EQ(report["loop"], "main");
  EXPECT_EQ(report["tag"], "InboxViewController");
  EXPECT_EQ(report["elapsed_ms"], 2100);
  EXPECT_EQ(report["ended"], true);
  EXPECT_EQ(report["duration_ms"], 2300);
  EXPECT_EQ(Cause(), Json::parse(R"(["-[InboxViewController loadAll]"])"));
  const Json& frame = report["expensive_stack"][0];
  EXPECT_EQ(frame["function"], "-[InboxViewController loadAll]");
  EXPECT_EQ(frame["build_id"], "8f3c1a2b4d5e3f60817293a4b5c6d7e8");
  EXPECT_EQ(frame["offset"], "0x100008124");  // as in the file
  ASSERT_EQ(report["threads"].size(), 2u);
  EXPECT_EQ(report["threads"][1]["name"], "com.example.index");
  EXPECT_EQ(report["threads"][1]["stack"][0]["module"], "/usr/lib/system/libsystem_kernel.dylib");
}

TEST_F(SentryReportTest, ACocoaHangThatEndedTheAppIsKilledInHang) {
  std::string event = testing::kCocoaHang;
  event.replace(event.find("App Hang Fully"), 8, "Fatal App Hang");
  event.replace(event.find("App hanging between 2.1 and 2.5 seconds."), 40,
                "The user or the OS watchdog terminated your app while it blocked the main thread for at "
                "least 2000 ms.");
  const Json report = Report(event);
  EXPECT_EQ(report["kind"], "killed-in-hang");
  EXPECT_EQ(report["level"], "anr");
  EXPECT_EQ(report["elapsed_ms"], 2000);
}

TEST_F(SentryReportTest, AnAndroidAnrIsNamedByItsMethods) {
  const Json report = Report(testing::kAndroidAnr);
  EXPECT_EQ(report["level"], "anr");
  EXPECT_EQ(report["elapsed_ms"], 5000);
  EXPECT_EQ(report["machine"], "arm64-v8a");
  EXPECT_EQ(report["user"], "8d1f");
  EXPECT_EQ(report["tid"], 2);
  EXPECT_EQ(Cause(), Json::parse(R"(["com.example.editor.Index.rebuild",
                                     "com.example.editor.MainActivity.onClick"])"));
  EXPECT_EQ(report["threads"][0]["state"], "R");
  EXPECT_EQ(report["threads"][0]["stack"].size(), 3u);
  EXPECT_EQ(report["threads"][1]["state"], "S");
  EXPECT_EQ(report["threads"][1]["stack"][0]["function"], "java.lang.Thread.sleep");
  EXPECT_THAT(report.dump(), Not(::testing::HasSubstr("jo@example.com")));
}

TEST_F(SentryReportTest, AWaitIsTheCauseOfWhoAskedForIt) {
  std::string event = testing::kAndroidAnr;
  const std::string last = R"("function": "rebuild", "filename": "Index.java", "lineno": 42})";
  event.replace(event.find(last), last.size(),
                last + R"(, {"module": "java.lang.Thread", "function": "sleep"})");
  Report(event);
  EXPECT_EQ(Cause()[0], "com.example.editor.Index.rebuild");
}

TEST_F(SentryReportTest, AnAnrOfTheLastRunTookFiveSecondsAtLeast) {
  const Json report = Report(testing::kAndroidExitInfo);
  EXPECT_EQ(report["elapsed_ms"], 5000);
  EXPECT_EQ(report["expensive_stack"][0]["function"], "nativeLoad");
  EXPECT_EQ(report["expensive_stack"][0]["module"], "/data/app/lib/libeditor.so");
}

TEST_F(SentryReportTest, ANodeAnrIsNamedByFunctionsAndFiles) {
  const Json report = Report(testing::kNodeAnr);
  EXPECT_EQ(report["app"], "server");
  EXPECT_EQ(report["version"], "1.0.7");
  EXPECT_EQ(Cause(), Json::parse(R"(["hash.js:longWork", "index.js:12"])"));
}

TEST_F(SentryReportTest, HangsOfUnityAndMetricKitAreKnownByTheirMechanisms) {
  const Json unity = Report(testing::kUnityAnr);
  EXPECT_EQ(unity["elapsed_ms"], 5000);
  EXPECT_EQ(unity["level"], "anr");
  EXPECT_EQ(unity["facts"]["recognized_by"], "mechanism");
  EXPECT_EQ(Cause()[0], "Game.Assets.LoadAll");
  EXPECT_EQ(Submit(testing::kMetricKitHang).accepted, 2);  // with its end
  bool is_there = false;
  for (const Json& report : collector_.Get("/v1/reports")) is_there |= report["duration_ms"] == 6600;
  EXPECT_TRUE(is_there) << collector_.Get("/v1/reports");
}

// `exception` is all that differs.
std::map<std::string, uint64_t> HangsOf(const std::string& exception) {
  const std::string event = R"({"event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9", "timestamp": 1755789191,
                                "exception": {"values": [)" +
                            exception + "]}}";
  const auto intake = TakeEvent(event, "1");
  EXPECT_TRUE(intake.ok()) << intake.status().message();
  EXPECT_EQ(intake->hangs.size() + intake->dropped.size(), 1u) << exception;
  EXPECT_EQ(intake->dropped_event.empty(), intake->dropped.empty());
  return intake->hangs;
}

TEST(SentryIntakeTest, AHangIsKnownByMechanismStackAndHandled) {
  const std::string stack = R"(, "stacktrace": {"frames": [{"function": "f"}]})";
  const std::string observed = R"(, "stacktrace": {"snapshot": true, "frames": [{"function": "f"}]})";
  using Hangs = std::map<std::string, uint64_t>;
  EXPECT_EQ(HangsOf(R"({"type": "X", "mechanism": {"type": "UIHang"})" + stack + "}"),
            (Hangs{{"mechanism", 1}}));
  EXPECT_EQ(HangsOf(R"({"type": "X", "mechanism": {"type": "exchange"})" + observed + "}"), Hangs());
  EXPECT_EQ(HangsOf(R"({"type": "X", "mechanism": {"type": "UIHang"}})"), Hangs());  // no stack
  EXPECT_EQ(HangsOf(R"({"type": "UiHangError", "mechanism": {"type": "generic"})" + observed + "}"),
            (Hangs{{"type", 1}}));
  // An error that the program threw.
  EXPECT_EQ(
      HangsOf(R"({"type": "ServerNotRespondingException", "mechanism": {"type": "generic"})" + stack + "}"),
      Hangs());
  EXPECT_EQ(HangsOf(R"({"type": "UiHangError", "mechanism": {"type": "onerror", "handled": false})" +
                    observed + "}"),
            Hangs());
  EXPECT_EQ(HangsOf(R"({"type": "Stall", "value": "UI did not run for 2300 ms",
                        "mechanism": {"type": "stalls", "synthetic": true})" +
                    stack + "}"),
            (Hangs{{"other", 1}}));
  EXPECT_EQ(
      HangsOf(R"({"type": "Stall", "value": "lost", "mechanism": {"type": "stalls", "synthetic": true})" +
              stack + "}"),
      Hangs());
}

TEST_F(SentryReportTest, AnEventThatIsSentAgainIsADuplicate) {
  EXPECT_EQ(Submit(testing::kNativeHang).accepted, 1);
  const IngestResult again = Submit(testing::kNativeHang);
  EXPECT_EQ(again.accepted, 0);
  EXPECT_EQ(again.duplicates, 1);
}

TEST_F(SentryReportTest, AnAddressOfAPersonIsNotKept) {
  std::string event = testing::kNativeHang;
  event.replace(event.find("u-71"), 4, "jo@example.com");
  const std::string user = Report(event)["user"];
  EXPECT_EQ(user.size(), 16u);
  EXPECT_EQ(user.find('@'), std::string::npos);
}

TEST(SentryIntakeTest, WhatIsNoHangIsCountedByType) {
  const std::string body =
      EnvelopeOf(R"({"event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9", "exception": {"values": [{"type": "Oops",
                    "mechanism": {"type": "signalhandler"}}]}})") +
      "{\"type\":\"session\"}\n{}\n{\"type\":\"session\"}\n{}\n{\"type\":\"made-up\"}\n{}\n{}\n{}\n";
  const auto intake = TakeEnvelope(ParseEnvelope(body).value(), "1");
  ASSERT_TRUE(intake.ok());
  EXPECT_EQ(intake->event_id, "9b2e7a4c5d6f40718293a4b5c6d7e8f9");
  EXPECT_TRUE(intake->batch.empty());
  EXPECT_EQ(intake->dropped, (std::map<std::string, uint64_t>{{"event", 1}, {"other", 2}, {"session", 2}}));
  EXPECT_EQ(intake->dropped_event, "error, exception 'Oops', mechanism 'signalhandler'");
}

TEST(SentryIntakeTest, AHangNeedsAnIdAndATime) {
  const std::string hang = R"("exception": [{"type": "AppHang"}])";
  for (const std::string& event :
       {"{" + hang + R"(, "timestamp": 1.5})", "{" + hang + R"(, "timestamp": 1.5, "event_id": "xy"})",
        "{" + hang + R"(, "event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9"})",
        "{" + hang + R"(, "event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9", "timestamp": "yesterday"})",
        "{" + hang + R"(, "event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9", "timestamp": -1})"}) {
    EXPECT_EQ(TakeEvent(event, "1").status().code(), base::StatusCode::kInvalid) << event;
  }
  EXPECT_TRUE(
      TakeEvent("{" + hang + R"(, "timestamp": 1.5, "event_id": "9b2e7a4c5d6f40718293a4b5c6d7e8f9"})", "1")
          .ok());
}

TEST(EventIdentityTest, ReadsTimesAsNumbersAndAsTexts) {
  auto ms_of = [](const char* timestamp) {
    return EventWallMs(nlohmann::json::parse(std::string("{\"timestamp\":") + timestamp + "}"));
  };
  EXPECT_EQ(ms_of("1787303304.25"), 1787303304250);
  for (const char* text :
       {"\"2026-08-21T09:08:24.250Z\"", "\"2026-08-21T09:08:24.25\"", "\"2026-08-21T09:08:24.250000+00:00\""})
    EXPECT_EQ(ms_of(text), 1787303304250) << text;
  for (const char* text :
       {"\"2026-08-21\"", "\"2026-08-21T09:08:24+02:00\"", "1e300", "null", "\"2026-08-21T09:08:24.x\""})
    EXPECT_EQ(ms_of(text), std::nullopt) << text;
}

TEST(EventIdentityTest, AReportsIdHasTheTimeAndTheWholeEventId) {
  const base::Uuid event = *ParseEventId("9B2E7A4C5D6F40718293A4B5C6D7E8F9");
  const std::string id = base::ToString(ReportIdOf(1787303304250, event));
  EXPECT_EQ(id, "01a02394-1c3a-7071-8293-3f9bbc9bb596");
  EXPECT_NE(base::ToString(ReportIdOf(1787303304250, *ParseEventId("9b2e7a4d-5d6f-4071-8293-a4b5c6d7e8f9"))),
            id);
}

}  // namespace
}  // namespace lagwatch::collector
