// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster/cause_key.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace lagwatch::policies {
namespace {

struct Place {
  std::string_view module_path;
  std::string_view build_id;
  uint64_t function_offset = 0;
};

const Place kWait{"/usr/lib/x86_64-linux-gnu/libc.so.6", "libc's id", 0x1000};
const Place kThread{"/lib/x86_64-linux-gnu/libpthread-2.31.so", "pthread's id", 0x1000};
const Place kFind{"/opt/editor", "editor's id", 0x2000};
const Place kOnKey{"/opt/editor", "editor's id", 0x3000};
const Place kMain{"/opt/editor", "editor's id", 0x4000};

uint64_t KeyOf(const std::vector<Place>& frames) {
  CauseKey key;
  for (const Place& frame : frames) key.Add(frame.module_path, frame.build_id, frame.function_offset);
  return key.value();
}

// On the wire: a change would tear old reports from new ones.
TEST(CauseKey, IsTheSameInEveryVersion) {
  EXPECT_EQ(KeyOf({kFind, kOnKey}), 0x49a5d1e216a3eec3);
  EXPECT_EQ(KeyOf({{}}), 0x88201fb960ff6465);
}

TEST(CauseKey, IsOfTheInnermostTwo) {
  EXPECT_EQ(KeyOf({kFind, kOnKey, kMain}), KeyOf({kFind, kOnKey}));
  EXPECT_NE(KeyOf({kFind, kOnKey}), KeyOf({kOnKey, kFind}));
  EXPECT_NE(KeyOf({kFind, kOnKey}), KeyOf({kFind, kMain}));
  EXPECT_NE(KeyOf({kFind, kOnKey}), KeyOf({kFind}));
}

TEST(CauseKey, SkipsTheCLibraryAtTheInnermostEndOnly) {
  EXPECT_EQ(KeyOf({kWait, kThread, kFind, kOnKey}), KeyOf({kFind, kOnKey}));
  EXPECT_NE(KeyOf({kFind, kWait}), KeyOf({kFind}));
  EXPECT_NE(KeyOf({kWait, kThread}), 0u);
  EXPECT_NE(KeyOf({kWait, kThread}), KeyOf({kWait}));
}

TEST(CauseKey, DoesNotDependOnWhereTheProgramLies) {
  Place elsewhere = kFind;
  elsewhere.module_path = "/home/somebody/editor";
  EXPECT_EQ(KeyOf({elsewhere}), KeyOf({kFind}));
  const Place without_id{"/a/plugin.so", "", 0x10};
  EXPECT_EQ(KeyOf({without_id}), KeyOf({{"/b/plugin.so", "", 0x10}}));
  EXPECT_NE(KeyOf({without_id}), KeyOf({{"/a/other.so", "", 0x10}}));
  // Outside all modules the address says nothing.
  EXPECT_EQ(KeyOf({{"", "", 0x10}}), KeyOf({{"", "", 0x20}}));
  EXPECT_EQ(KeyOf({{kGeneratedCodeModule, "", 0x10}}), KeyOf({{"", "", 0x20}}));
}

TEST(CauseKey, OfNoFramesIsNotKnown) { EXPECT_EQ(KeyOf({}), 0u); }

TEST(CauseKey, IsCompleteAsSoonAsNoFurtherFrameCounts) {
  CauseKey key;
  for (const Place& frame : {kWait, kThread, kFind}) {
    key.Add(frame.module_path, frame.build_id, frame.function_offset);
    EXPECT_FALSE(key.is_complete());
  }
  key.Add(kOnKey.module_path, kOnKey.build_id, kOnKey.function_offset);
  EXPECT_TRUE(key.is_complete());
}

TEST(CauseKey, KnowsTheCLibrariesByName) {
  for (const char* path :
       {"/lib/libc.so.6", "/lib/libc-2.31.so", "libpthread.so.0", "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-musl-x86_64.so.1", "/lib/libc.musl-x86_64.so.1", "[vdso]"})
    EXPECT_TRUE(IsCLibrary(path)) << path;
  for (const char* path : {"", "/opt/libc/editor", "/lib/libcurl.so.4", "/lib/libc++.so.1", "/opt/ld"})
    EXPECT_FALSE(IsCLibrary(path)) << path;
}

}  // namespace
}  // namespace lagwatch::policies
