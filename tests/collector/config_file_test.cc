// SPDX-License-Identifier: Apache-2.0
#include "collector/config/config_file.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

TEST(ConfigFile, TellsEveryClientTheSame) {
  auto file = ConfigFile::Parse(R"({"threshold_ms": 500, "is_killed": false})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Json document = file->DocumentFor({"editor", "2.1", "u-1"});
  EXPECT_EQ(document,
            Json({{"threshold_ms", 500}, {"is_killed", false}, {"app", "editor"}, {"user", "u-1"}}));
  EXPECT_EQ(file->expires_after_ms(), int64_t{30} * 24 * 3'600'000);
}

TEST(ConfigFile, TellsNobodyWhoElseIsOnTheAllowlist) {
  auto file = ConfigFile::Parse(R"({"allowlist": ["u-1", "u-2"], "expires_after_hours": 1})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  const Json listed = file->DocumentFor({"editor", "", "u-1"});
  EXPECT_EQ(listed, Json({{"app", "editor"}, {"user", "u-1"}, {"is_forced", true}}));
  EXPECT_FALSE(file->DocumentFor({"editor", "", "u-3"}).contains("is_forced"));
  EXPECT_FALSE(file->DocumentFor({"editor", "", ""}).contains("is_forced"));
  EXPECT_EQ(file->expires_after_ms(), 3'600'000);
}

TEST(ConfigFile, LetsLaterOverridesWin) {
  auto file = ConfigFile::Parse(R"({
    // Comments are fine.
    "threshold_ms": 2000, "reports_per_day": 20,
    "overrides": [{"app": "editor", "threshold_ms": 1000},
                  {"app": "editor", "app_version": "2.1", "threshold_ms": 500, "is_killed": true},
                  {"app_version": "0.9", "reports_per_day": 0}]})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->DocumentFor({"viewer", "2.1", ""})["threshold_ms"], 2000);
  EXPECT_EQ(file->DocumentFor({"editor", "2.0", ""})["threshold_ms"], 1000);
  const Json meant = file->DocumentFor({"editor", "2.1", ""});
  EXPECT_EQ(meant["threshold_ms"], 500);
  EXPECT_EQ(meant["reports_per_day"], 20);
  EXPECT_EQ(meant["is_killed"], true);
  EXPECT_EQ(file->DocumentFor({"viewer", "0.9", ""})["reports_per_day"], 0);
}

TEST(ConfigFile, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "JSON object"},
      {"{", "JSON object"},
      {R"({"threshold": 5})", "\"threshold\" is not a key"},
      {R"({"is_forced": true})", "\"is_forced\" is not a key"},
      {R"({"version": 5})", "\"version\" is not a key"},
      {R"({"threshold_ms": 5})", "\"threshold_ms\" must be a whole number from 16 to 3600000"},
      {R"({"threshold_ms": -5})", "threshold_ms"},
      {R"({"threshold_ms": 50.5})", "threshold_ms"},
      {R"({"threshold_ms": "50"})", "threshold_ms"},
      {R"({"is_killed": 1})", "\"is_killed\" must be true or false"},
      {R"({"allowlist": "u-1"})", "allowlist"},
      {R"({"allowlist": [1]})", "allowlist"},
      {R"({"allowlist": ["sha256:0123456789ABCDEF0123456789ABCDEF"]})", "allowlist"},
      {R"({"allowlist": ["sha256:0123456789abcdef"]})", "allowlist"},
      {R"({"expires_after_hours": 0})", "expires_after_hours"},
      {R"({"overrides": {}})", "overrides"},
      {R"({"overrides": [1]})", "overrides"},
      {R"({"overrides": [{"app": 1}]})", "app"},
      {R"({"overrides": [{"allowlist": []}]})", "\"allowlist\" is not a key of an override"},
      {R"({"overrides": [{"threshold_ms": 1}]})", "threshold_ms"},
      {R"({"capture_requests": {}})", "capture_requests"},
      {R"({"capture_requests": [{"cluster": "xyz"}]})", "capture_requests.cluster"},
      {R"({"capture_requests": [{"cluster": "ff", "interval_us": 1}]})", "interval_us"},
      {R"({"capture_requests": [{"cluster": "ff", "speed": 1}]})", "\"speed\" is not a key"},
      {R"({"probe_requests": {}})", "probe_requests"},
      {R"({"probe_requests": [{"script": "ff"}]})", "probe_requests.script"},
      {R"({"probe_requests": [{"text": "f { count }"}]})", "\"text\" is not a key"},
  };
  for (const auto& [text, part] : wrong) {
    auto file = ConfigFile::Parse(text);
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_NE(file.status().message().find(part), std::string::npos) << file.status().message();
  }
}

// Texts that would take the stack, or minutes.
TEST(ConfigFile, RefusesWhatIsTooDeepOrHasTooManyKeys) {
  constexpr size_t kLevels = 200'000;
  const std::string deep = std::string(kLevels, '[') + std::string(kLevels, ']');
  EXPECT_FALSE(ConfigFile::Parse(deep).ok());
  EXPECT_FALSE(ConfigFile::Parse("{\"threshold_ms\": " + deep + "}").ok());
  std::string wide = "{";
  for (size_t i = 0; i < kLevels; ++i) wide += "\"k" + std::to_string(i) + "\": 1, ";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(ConfigFile::Parse(wide + "\"threshold_ms\": 50}").ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));  // 100 s with its square
}

TEST(ConfigFile, HasTheAddressesOfSources) {
  const auto file = ConfigFile::Parse(
      R"({"sources": {"editor": {"url": "https://a.example/{version}/{file}", "root": "/b"}, "player": {"url": "http://b.example/{file}"}}})");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->SourceOf("editor")->ToJson("1"),
            Json({{"url", "https://a.example/1/{file}"}, {"root", "/b/"}}));
  EXPECT_EQ(file->SourceOf("player")->ToJson("1")["root"], "");
  EXPECT_EQ(file->SourceOf("other"), std::nullopt);
  // Clients have no use for them.
  EXPECT_FALSE(file->DocumentFor({"editor", "1", "u"}).contains("sources"));
  for (const char* bad : {R"({"sources": []})", R"({"sources": {"e": "https://a.example/{file}"}})",
                          R"({"sources": {"e": {"url": 1}}})", R"({"sources": {"e": {}}})",
                          R"({"sources": {"e": {"url": "javascript:{file}"}}})",
                          R"({"sources": {"e": {"url": "https://a.example/{file}", "path": "/"}}})"})
    EXPECT_FALSE(ConfigFile::Parse(bad).ok()) << bad;
}

}  // namespace
}  // namespace lagwatch::collector
