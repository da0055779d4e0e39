// SPDX-License-Identifier: Apache-2.0
#include "trace/export/export.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/trace/export/sample_trace.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::MakeLongTrace;
using lagwatch::testing::MakeSampleTrace;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Export, KnowsEachFormatByNameAndSuffix) {
  std::set<std::string_view> names, suffixes;
  for (const FormatInfo& info : Formats()) {
    EXPECT_EQ(InfoOf(info.format).name, info.name);
    EXPECT_EQ(FindFormat(info.name), info.format);
    EXPECT_EQ(FindFormat("traces/editor" + std::string(info.suffix)), info.format);
    names.insert(info.name);
    suffixes.insert(info.suffix);
  }
  EXPECT_EQ(names.size(), 6u);
  EXPECT_EQ(suffixes.size(), 6u);
  EXPECT_EQ(FindFormat("editor.svg"), std::nullopt);
}

TEST(Export, WritesEachFormat) {
  for (const FormatInfo& info : Formats()) {
    const base::Result<std::string> file = Export(info.format, MakeSampleTrace());
    ASSERT_TRUE(file.ok()) << info.name;
    EXPECT_GT(file->size(), 100u) << info.name;
  }
}

TEST(Export, WritesOneThreadWhereOneIsAskedFor) {
  for (Format format : {Format::kSpeedscope, Format::kCollapsed, Format::kNanoscope}) {
    const base::Result<std::string> file = Export(format, MakeSampleTrace(), {.tid = 102, .slices = {}});
    ASSERT_TRUE(file.ok());
    EXPECT_THAT(*file, HasSubstr("Render()"));
    if (format != Format::kSpeedscope) {
      EXPECT_THAT(*file, Not(HasSubstr("OnKey")));
    }
  }
  EXPECT_EQ(Export(Format::kPerfetto, MakeSampleTrace(), {.tid = 7, .slices = {}}).status().code(),
            base::StatusCode::kNotFound);
}

TEST(Export, IsTheSameEachTime) {
  for (const FormatInfo& info : Formats())
    EXPECT_EQ(*Export(info.format, MakeSampleTrace()), *Export(info.format, MakeSampleTrace())) << info.name;
}

// 200,000 slices, under a timeout that nothing quadratic would keep.
TEST(Export, OfALongTraceGrowsAsItsLength) {
  const Trace shorter = MakeLongTrace(5'000);
  const Trace longer = MakeLongTrace(20'000);
  for (Format format : {Format::kPerfetto, Format::kSpeedscope, Format::kChromeJson, Format::kNanoscope}) {
    const size_t size_bytes = Export(format, longer)->size();
    EXPECT_LT(size_bytes, Export(format, shorter)->size() * 5) << InfoOf(format).name;
    RecordProperty(std::string(InfoOf(format).name), std::to_string(size_bytes));
  }
  // Equal stacks are there once.
  for (Format format : {Format::kPprof, Format::kCollapsed})
    EXPECT_LT(Export(format, longer)->size(), Export(format, shorter)->size() * 2) << InfoOf(format).name;
}

}  // namespace
}  // namespace lagwatch::trace
