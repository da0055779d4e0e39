// SPDX-License-Identifier: Apache-2.0
#include "report/upload/name_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "report/format/report.h"
#include "tests/report/report_testing.h"

namespace lagwatch::report {
namespace {

using Asked = std::tuple<std::string, std::string, uint64_t>;

class KnownNames final : public FrameNamer {
 public:
  explicit KnownNames(std::map<Asked, std::string> names) : names_(std::move(names)) {}

  std::optional<std::string> NameOf(const std::string& path, std::string_view build_id,
                                    uint64_t offset) override {
    asked.emplace_back(path, build_id, offset);
    auto known = names_.find(asked.back());
    return known == names_.end() ? std::nullopt : std::optional(known->second);
  }

  std::vector<Asked> asked;

 private:
  std::map<Asked, std::string> names_;
};

TEST(NameFrames, NamesEachFunctionOnceAndLeavesNamedOnesAlone) {
  const std::string encoded = lagwatch::testing::FullReport();
  KnownNames namer({{{"/opt/editor", "build-one", 0x90}, "_ZN6Editor5OnKeyEv"}});
  std::string named = encoded;
  NameFrames(DecodeReport(encoded).value(), &namer, &named);
  // Not futex_wait at 0x1200, which the report names, nor the frame in no module.
  EXPECT_THAT(namer.asked, ::testing::ElementsAre(Asked{"/opt/editor", "build-one", 0x42},
                                                  Asked{"/opt/editor", "build-one", 0x90}));
  auto report = DecodeReport(named);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->symbols.size(), 2u);
  EXPECT_EQ(report->symbols[1].module, 0u);
  EXPECT_EQ(report->symbols[1].function_offset, 0x90u);
  EXPECT_EQ(report->symbols[1].name, "_ZN6Editor5OnKeyEv");
  EXPECT_TRUE(named.starts_with(encoded));
  EXPECT_EQ(report->tag, DecodeReport(encoded)->tag);
}

TEST(NameFrames, NamesAFunctionThatIsTheTag) {
  auto named_tag = [](const std::string& tag) {
    std::string encoded = lagwatch::testing::FullReport();
    AppendTag(tag, &encoded);
    KnownNames namer({{{"/opt/editor-plugin.so", "", 0x1f0}, "of_another_module"},
                      {{"/opt/editor", "build-one", 0x1f0}, "_ZN6Editor4SaveEPFviE"},
                      {{"/opt/libeditor-with-a-long-name.so.1", "", 0x2f0}, "on_idle"}});
    Report report = DecodeReport(encoded).value();
    for (const char* path : {"/opt/libeditor-with-a-long-name.so.1", "/opt/editor-plugin.so"}) {
      Module module;
      module.path = path;
      report.modules.insert(report.modules.begin(), module);
    }
    NameFrames(report, &namer, &encoded);
    return DecodeReport(encoded)->tag;
  };
  EXPECT_EQ(named_tag("editor+0x1f0"), "Editor::Save");
  EXPECT_EQ(named_tag("libeditor-with-a-long-nam+0x2f0"), "on_idle") << "the tag is full: its name is cut";
  for (const char* tag : {"libeditor-with-a-long-na+0x2f0", "edi+0x1f0", "editor+0x3f0", "another+0x1f0",
                          "+0x1f0", "editor+0x1f0z", "editor+0x", "save"})
    EXPECT_EQ(named_tag(tag), tag);
}

TEST(NameFrames, NamesFunctionsOfTheHistoryAndKeepsTheRestOfTheReport) {
  std::string encoded = lagwatch::testing::FullReport();
  Report expected = DecodeReport(encoded).value();
  ASSERT_FALSE(expected.history.empty());
  ReplaceHistoryTags([](std::string_view) { return std::optional<std::string>("editor+0x1f0"); }, &encoded);
  const Report placed = DecodeReport(encoded).value();
  for (const PastDispatch& past : placed.history) EXPECT_EQ(past.tag, "editor+0x1f0");
  KnownNames namer({{{"/opt/editor", "build-one", 0x1f0}, "_ZN6Editor4SaveEPFviE"}});
  NameFrames(placed, &namer, &encoded);
  const Report named = DecodeReport(encoded).value();
  ASSERT_EQ(named.history.size(), expected.history.size());
  for (size_t i = 0; i < named.history.size(); ++i) {
    EXPECT_EQ(named.history[i].tag, "Editor::Save");
    EXPECT_EQ(named.history[i].wall_ns, expected.history[i].wall_ns);
    EXPECT_EQ(named.history[i].age_ns, expected.history[i].age_ns);
  }
  EXPECT_EQ(named.tag, expected.tag);
  EXPECT_EQ(named.stacks.size(), expected.stacks.size());
  EXPECT_EQ(named.facts.size(), expected.facts.size());
  std::string damaged = encoded.substr(0, encoded.size() - 1);
  const std::string before = damaged;
  ReplaceHistoryTags([](std::string_view) { return std::optional<std::string>("x"); }, &damaged);
  EXPECT_EQ(damaged, before);
}

}  // namespace
}  // namespace lagwatch::report
