// SPDX-License-Identifier: Apache-2.0
#include "trace/record/arena.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/testing/temp_directory.h"

namespace lagwatch::trace {
namespace {

TEST(Arena, AFileIsSeenByOthers) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "arena";
  auto arena = Arena::CreateFile(path, {});
  ASSERT_TRUE(arena.ok()) << arena.status().message();
  auto other = Arena::Open(path);
  ASSERT_TRUE(other.ok()) << other.status().message();
  (*arena)->header().counters.samples.Add(7);
  EXPECT_EQ((*other)->header().counters.samples.value(), 7);
  EXPECT_EQ((*other)->main_pool().block_count(), (*arena)->main_pool().block_count());
}

TEST(Arena, AFileIsItsOwnersAlone) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "arena";
  ASSERT_TRUE(Arena::CreateFile(path, {}).ok());
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600);
  EXPECT_FALSE(Arena::CreateFile(path, {}).ok()) << "it exists";
}

TEST(Arena, OnlyTouchedPagesTakeMemory) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "arena";
  ASSERT_TRUE(Arena::CreateFile(path, {.main_bytes = 1 << 30}).ok());
  struct stat facts {};
  ASSERT_EQ(stat(path.c_str(), &facts), 0);
  EXPECT_LT(facts.st_blocks * 512, 1 << 20);
}

TEST(Arena, AForeignFileIsRefused) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "arena";
  std::ofstream(path) << std::string(1 << 20, 'x');
  const auto arena = Arena::Open(path);
  ASSERT_FALSE(arena.ok());
  EXPECT_EQ(arena.status().code(), base::StatusCode::kInvalid);
  EXPECT_FALSE(Arena::Open(directory / "none").ok());
}

TEST(Arena, OneThatWasCutShortIsRefused) {
  const testing::ScopedTempDirectory directory;
  const std::string path = directory / "arena";
  ASSERT_TRUE(Arena::CreateFile(path, {}).ok());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4096);
  EXPECT_FALSE(Arena::Open(path).ok());
}

TEST(Arena, AForkedChildHasNoPartInAPrivateOne) {
  const auto arena = Arena::CreatePrivate({});
  ASSERT_NE(arena, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    arena->header().counters.samples.Add(1);
    _exit(arena->header().magic == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(arena->header().counters.samples.value(), 0);
}

}  // namespace
}  // namespace lagwatch::trace
