// SPDX-License-Identifier: Apache-2.0
#include "trace/model/tag_frames.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

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

}  // namespace
}  // namespace lagwatch::trace
