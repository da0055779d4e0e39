// SPDX-License-Identifier: Apache-2.0
#include "trace/model/tag_frames.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {
namespace {

TEST(TagFrames, AreNamedAndLeaveTheOtherFramesAsTheyWere) {
  Trace trace;
  trace.modules = {{"/usr/lib/editor-plugin.so", "", 0}, {"/opt/editor", "build", 0}};
  trace.frames.resize(1);
  trace.threads.resize(1);
  for (const char* tag : {"editor+0x1f0", "save", "editor+0x1f0", "editor+0x2f0", "plugin.so+0x1f0"})
    trace.threads[0].dispatches.push_back({0, 0, 0, tag});
  TagFrames tags(&trace);
  ASSERT_EQ(trace.frames.size(), 3u);
  EXPECT_EQ(trace.frames[1].module, 1u);
  EXPECT_EQ(trace.frames[1].offset, 0x1f0u);
  EXPECT_EQ(trace.frames[2].offset, 0x2f0u);
  trace.frames[1].name = "Save";
  tags.Apply();
  std::vector<std::string> named;
  for (const Dispatch& dispatch : trace.threads[0].dispatches) named.push_back(dispatch.tag);
  EXPECT_THAT(named, ::testing::ElementsAre("Save", "save", "Save", "editor+0x2f0", "plugin.so+0x1f0"));
  EXPECT_EQ(trace.frames.size(), 1u);
}

TEST(TagFrames, OfAFullTagMayHaveTheBeginOfAModulesName) {
  Trace trace;
  trace.modules = {{"/lib/libphotos-and-albums.so.1.2", "", 0}, {"/lib/libphotos-and-albums.so", "", 0}};
  trace.threads.resize(1);
  for (const char* tag :
       {"libphotos-and-albums.so+0x1f012", "libphotos-and-albums.so.+0x1f01", "libphotos+0x1f0"})
    trace.threads[0].dispatches.push_back({0, 0, 0, tag});
  const TagFrames tags(&trace);
  ASSERT_EQ(trace.frames.size(), 2u);
  EXPECT_EQ(trace.frames[0].module, 1u);
  EXPECT_EQ(trace.frames[1].module, 0u);
}

// The time of this thread on a CPU that tags of no module take.
int64_t CpuNsOfTags(size_t tags, size_t modules) {
  Trace trace;
  for (size_t i = 0; i < modules; ++i) trace.modules.push_back({"/lib/" + std::to_string(i) + ".so", "", 0});
  trace.threads.resize(1);
  for (size_t i = 0; i < tags; ++i) {
    std::string tag = "plugin-of-strangers-" + std::to_string(i) + "+0x";
    tag.resize(31, '1');  // full
    trace.threads[0].dispatches.push_back({0, 0, 0, tag});
  }
  const int64_t begin_ns = base::ThreadCpuNs(0);
  const TagFrames frames(&trace);
  return base::ThreadCpuNs(0) - begin_ns;
}

TEST(TagFrames, TakeNoTimeForEachPairOfATagAndAModule) {
  constexpr size_t kMany = 10'000;
  EXPECT_LT(CpuNsOfTags(kMany, kMany), 20 * (CpuNsOfTags(kMany, 1) + CpuNsOfTags(1, kMany)));
}

}  // namespace
}  // namespace lagwatch::trace
