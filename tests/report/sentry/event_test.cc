// SPDX-License-Identifier: Apache-2.0
#include "report/sentry/event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/testing/sample_report.h"

namespace lagwatch::report {
namespace {

using nlohmann::json;
using testing::SampleReport;

Report Decoded(const SampleReport& sample) { return DecodeReport(sample.Encode()).value(); }

// The envelope's event, after a look at what is around it.
json EventOf(const Report& report, const HangOutcome& outcome = {}) {
  std::istringstream lines(SentryEnvelope(report, outcome));
  std::string headers;
  std::string item;
  std::string event;
  std::string rest;
  std::getline(lines, headers);
  std::getline(lines, item);
  std::getline(lines, event);
  EXPECT_FALSE(std::getline(lines, rest));
  EXPECT_EQ(json::parse(headers)["event_id"], SentryEventId(report));
  EXPECT_EQ(json::parse(item)["type"], "event");
  EXPECT_EQ(json::parse(item)["length"], event.size());
  return json::parse(event);
}

// The keys of Sentry's event schema, for each object that we write
// (https://develop.sentry.dev/sdk/foundations/transport/event-payloads/).
const std::set<std::string> kEvent = {
    "event_id", "timestamp",  "platform",    "level",   "logger",  "transaction", "server_name", "release",
    "dist",     "tags",       "environment", "modules", "extra",   "fingerprint", "exception",   "message",
    "threads",  "stacktrace", "breadcrumbs", "user",    "request", "contexts",    "debug_meta",  "sdk"};
const std::set<std::string> kException = {"type", "value", "module", "thread_id", "mechanism", "stacktrace"};
const std::set<std::string> kMechanism = {
    "type", "description", "help_link",    "handled",   "synthetic",         "meta",
    "data", "source",      "exception_id", "parent_id", "is_exception_group"};
const std::set<std::string> kStacktrace = {"frames",   "registers",      "lang",
                                           "snapshot", "frames_omitted", "instruction_addr_adjustment"};
const std::set<std::string> kFrame = {
    "filename",    "function",     "raw_function", "symbol",      "module",   "lineno",
    "colno",       "abs_path",     "in_app",       "stack_start", "vars",     "instruction_addr",
    "addr_mode",   "symbol_addr",  "image_addr",   "package",     "platform", "context_line",
    "pre_context", "post_context", "lock"};
const std::set<std::string> kThread = {"id",         "crashed", "current",    "main",     "name",
                                       "stacktrace", "state",   "held_locks", "priority", "daemon"};
const std::set<std::string> kImage = {"type",       "image_addr", "image_size", "image_vmaddr", "debug_id",
                                      "debug_file", "code_id",    "code_file",  "arch",         "uuid"};

void ExpectKeys(const json& object, const std::set<std::string>& known) {
  ASSERT_TRUE(object.is_object());
  for (const auto& [key, value] : object.items()) EXPECT_TRUE(known.contains(key)) << key;
}

void ExpectStacktrace(const json& stacktrace) {
  ExpectKeys(stacktrace, kStacktrace);
  ASSERT_FALSE(stacktrace["frames"].empty());
  for (const json& frame : stacktrace["frames"]) ExpectKeys(frame, kFrame);
}

TEST(SentryEventTest, KeepsToSentrysSchema) {
  SampleReport sample;
  sample.threads = {{"worker", {"Wait", "Run"}}};
  const json event = EventOf(Decoded(sample));
  ExpectKeys(event, kEvent);
  const json& exception = event["exception"]["values"].at(0);
  ExpectKeys(exception, kException);
  ExpectKeys(exception["mechanism"], kMechanism);
  ExpectStacktrace(exception["stacktrace"]);
  ASSERT_EQ(event["threads"]["values"].size(), 2u);
  for (const json& thread : event["threads"]["values"]) {
    ExpectKeys(thread, kThread);
    ExpectStacktrace(thread["stacktrace"]);
  }
  for (const json& image : event["debug_meta"]["images"]) ExpectKeys(image, kImage);
  EXPECT_TRUE(event["timestamp"].is_number());
  EXPECT_EQ(event["event_id"].get<std::string>().size(), 32u);
  for (const auto& [name, value] : event["tags"].items()) EXPECT_TRUE(value.is_string()) << name;
  for (const auto& [name, value] : event["contexts"].items()) EXPECT_TRUE(value.is_object()) << name;
}

TEST(SentryEventTest, TellsWhatFroze) {
  SampleReport sample;
  sample.verdict.word = policies::VerdictWord::kLock;
  const json event = EventOf(Decoded(sample));
  EXPECT_EQ(event["release"], "editor@2.3.1");
  EXPECT_EQ(event["user"]["id"], "u-71");
  EXPECT_EQ(event["transaction"], "key");
  EXPECT_EQ(event["tags"]["verdict"], "lock");
  EXPECT_EQ(event["tags"]["loop"], "ui");
  EXPECT_EQ(event["timestamp"], 1'700'000'002.0);
  EXPECT_EQ(event["contexts"]["os"], json::parse(R"({"name": "Linux", "version": "6.1.0"})"));
  EXPECT_EQ(event["contexts"]["lagwatch"]["fds"], 12);
  EXPECT_EQ(event["contexts"]["lagwatch"]["scene"], "inbox");
  const json& exception = event["exception"]["values"][0];
  EXPECT_EQ(exception["type"], "App Hang");
  EXPECT_EQ(exception["value"], "App hung for at least 2000 ms.");
  EXPECT_EQ(exception["mechanism"]["type"], "AppHang");
}

TEST(SentryEventTest, HasNoReleaseWithoutAVersion) {
  SampleReport sample;
  sample.header.app_version = "";
  const json event = EventOf(Decoded(sample));
  EXPECT_FALSE(event.contains("release"));
  EXPECT_EQ(event["contexts"]["app"]["app_name"], "editor");
}

TEST(SentryEventTest, HasPlacesAndNamesOutermostFirst) {
  SampleReport sample;
  sample.stack = {"_ZN5Index6LookupEi", "main"};
  const json event = EventOf(Decoded(sample));
  const json& frames = event["exception"]["values"][0]["stacktrace"]["frames"];
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0]["function"], "main");
  EXPECT_EQ(frames[1]["function"], "Index::Lookup(int)");
  EXPECT_EQ(frames[1]["symbol"], "_ZN5Index6LookupEi");
  EXPECT_EQ(frames[1]["package"], "/usr/bin/editor");
  EXPECT_EQ(frames[1]["instruction_addr"], "0x55551010");
  EXPECT_EQ(frames[1]["symbol_addr"], "0x55551000");
  const json& image = event["debug_meta"]["images"].at(0);
  EXPECT_EQ(image["code_id"], "01abff");
  EXPECT_EQ(image["debug_id"], "00ffab01-0000-0000-0000-000000000000");
  EXPECT_EQ(image["image_addr"], "0x55550000");
}

TEST(SentryEventTest, SaysHowItEnded) {
  const Report report = Decoded({});
  EXPECT_EQ(EventOf(report, {.duration_ns = 5'234'000'000})["exception"]["values"][0]["value"],
            "App hung for 5234 ms.");
  const json killed = EventOf(report, {.duration_ns = 9'000'000'000, .was_killed = true});
  EXPECT_EQ(killed["level"], "fatal");
  EXPECT_EQ(killed["exception"]["values"][0]["type"], "Fatal App Hang");
  EXPECT_EQ(killed["exception"]["values"][0]["value"], "App hung for at least 9000 ms.");
  EXPECT_EQ(killed["exception"]["values"][0]["mechanism"]["handled"], false);
}

TEST(SentryEventTest, SurvivesTextsThatAreNoUtf8) {
  SampleReport sample;
  sample.header.tag = "open \xff";
  EXPECT_EQ(EventOf(Decoded(sample))["transaction"], "open \xef\xbf\xbd");
}

}  // namespace
}  // namespace lagwatch::report
