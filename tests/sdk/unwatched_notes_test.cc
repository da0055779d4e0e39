// SPDX-License-Identifier: Apache-2.0
#include "sdk/preload/environment/unwatched_notes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/testing/temp_directory.h"

namespace lagwatch::sdk {
namespace {

TEST(UnwatchedNotes, AreReadAsTheyWereWritten) {
  testing::ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  AddUnwatchedNote(spool, {.wall_ms = 5, .pid = 7, .app = "an app", .why = "no usable\nsignal\t!"});
  AddUnwatchedNote(spool, {.wall_ms = 9, .pid = 8, .app = "", .why = "because"});
  const auto notes = ReadUnwatchedNotes(spool, 0);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[0].wall_ms, 5);
  EXPECT_EQ(notes[0].pid, 7u);
  EXPECT_EQ(notes[0].app, "an app");
  EXPECT_EQ(notes[0].why, "no usable signal !");
  EXPECT_EQ(notes[1].app, "");
  EXPECT_EQ(notes[1].why, "because");
  EXPECT_EQ(ReadUnwatchedNotes(spool, 6).size(), 1u);
}

TEST(UnwatchedNotes, AreNotWrittenWhereOthersMayWrite) {
  testing::ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  std::filesystem::create_directory(spool);
  chmod(spool.c_str(), 0777);
  AddUnwatchedNote(spool, {.wall_ms = 5, .pid = 7, .app = "app", .why = "because"});
  EXPECT_TRUE(std::filesystem::is_empty(spool));
  EXPECT_TRUE(ReadUnwatchedNotes(directory / "none", 0).empty());
}

TEST(UnwatchedNotes, DoNotGrowForEver) {
  testing::ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  const std::string long_text(400, 'x');
  for (int i = 0; i < 300; ++i)
    AddUnwatchedNote(spool, {.wall_ms = i, .pid = 7, .app = "app", .why = long_text});
  EXPECT_LT(std::filesystem::file_size(spool + "/" + kUnwatchedFileName), 66u << 10);
  EXPECT_EQ(ReadUnwatchedNotes(spool, 0).back().wall_ms, 299);
}

}  // namespace
}  // namespace lagwatch::sdk
