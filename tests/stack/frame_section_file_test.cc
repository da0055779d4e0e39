// SPDX-License-Identifier: Apache-2.0
#include "stack/elf/frame_section_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/stack/elf_subject.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::stack {
namespace {

using lagwatch::testing::kElfSubject;
using lagwatch::testing::kElfSubjectBuildId;
using lagwatch::testing::ScopedTempDirectory;
using lagwatch::testing::SectionByObjcopy;
using lagwatch::testing::Shell;
using lagwatch::testing::StripToMiniDebugInfo;

class DebugFrameFile : public ::testing::Test {
 protected:
  DebugFrameFile() : expected_(SectionByObjcopy(kElfSubject, ".debug_frame", directory_ / "expected")) {
    std::filesystem::create_directories(root_ + "/.build-id/01");
  }

  bool IsLoadedFrom(const std::string& path) const {
    auto frame = LoadDebugFrame(path, kElfSubjectBuildId, root_);
    EXPECT_FALSE(expected_.empty());
    return frame && frame->bytes == expected_ && frame->address == 0;
  }

  ScopedTempDirectory directory_;
  const std::string root_ = directory_ / "debug";
  const std::string debug_file_ = root_ + "/.build-id/01/23456789abcdef02468ace13579bdf.debug";
  const std::string stripped_ = directory_ / "stripped";
  const std::string expected_;
};

TEST_F(DebugFrameFile, ComesFromTheModule) { EXPECT_TRUE(IsLoadedFrom(kElfSubject)); }

TEST_F(DebugFrameFile, IsDecompressed) {
  Shell("objcopy --compress-debug-sections=zlib " + kElfSubject + " " + stripped_);
  EXPECT_TRUE(IsLoadedFrom(stripped_));
}

TEST_F(DebugFrameFile, ComesFromTheSeparateDebugFile) {
  Shell("strip --strip-all -o " + stripped_ + " " + kElfSubject);
  EXPECT_FALSE(LoadDebugFrame(stripped_, kElfSubjectBuildId, root_).has_value());
  Shell("objcopy --only-keep-debug " + kElfSubject + " " + debug_file_);
  EXPECT_TRUE(IsLoadedFrom(stripped_));
}

TEST_F(DebugFrameFile, ComesFromMiniDebugInfo) {
  StripToMiniDebugInfo(kElfSubject, stripped_);
  EXPECT_FALSE(LoadDebugFrame(stripped_, kElfSubjectBuildId, root_).has_value());
  StripToMiniDebugInfo(kElfSubject, stripped_, "--keep-section=.debug_frame");
  EXPECT_TRUE(IsLoadedFrom(stripped_));
}

TEST_F(DebugFrameFile, OfAnotherBuildIsNone) {
  EXPECT_FALSE(LoadDebugFrame(kElfSubject, kElfSubjectBuildId.substr(1), root_).has_value());
  EXPECT_FALSE(LoadDebugFrame(kElfSubject, "", root_).has_value());
  Shell("strip --strip-all -o " + stripped_ + " " + kElfSubject);
  Shell("objcopy --only-keep-debug --remove-section .note.gnu.build-id " + kElfSubject + " " + debug_file_);
  EXPECT_FALSE(LoadDebugFrame(stripped_, kElfSubjectBuildId, root_).has_value());
}

TEST_F(DebugFrameFile, OfNoFileIsNone) {
  EXPECT_FALSE(LoadDebugFrame("[vdso]", "", root_).has_value());
  EXPECT_FALSE(LoadDebugFrame("", "", root_).has_value());
  EXPECT_FALSE(LoadDebugFrame(directory_ / "missing", kElfSubjectBuildId, root_).has_value());
}

}  // namespace
}  // namespace lagwatch::stack
