// SPDX-License-Identifier: Apache-2.0
#include "base/process/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <latch>
#include <string>
#include <thread>

#include "base/owned_fd.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::base {
namespace {

std::string ContentOf(const std::string& path) {
  struct stat status {};
  const OwnedFd file(OpenRegularFile(path.c_str(), &status));
  char text[64];
  const ssize_t size = file ? read(file.get(), text, sizeof text) : -1;
  EXPECT_TRUE(size < 0 || size == status.st_size);
  return size < 0 ? "none" : std::string(text, static_cast<size_t>(size));
}

class RegularFileTest : public ::testing::Test {
 protected:
  RegularFileTest() {
    std::ofstream(path_) << "wanted";
    std::ofstream(other_) << "another";
  }

  const testing::ScopedTempDirectory directory_;
  const std::string path_ = directory_ / "file";
  const std::string other_ = directory_ / "other";
};

TEST_F(RegularFileTest, NothingElseIsOpened) {
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ContentOf(path_), "wanted");
  EXPECT_EQ(ContentOf(pipe), "none");
  EXPECT_EQ(ContentOf("/dev/null"), "none");
  EXPECT_EQ(ContentOf(directory_ / ""), "none");
  EXPECT_EQ(ContentOf(directory_ / "nothing"), "none");
}

// lagwatch's threads have their own, and the process another file by the same number.
TEST_F(RegularFileTest, AThreadMayHaveDescriptorsOfItsOwn) {
  std::latch has_own(1);
  std::latch has_other(1);
  std::thread thread([&] {
    EXPECT_EQ(unshare(CLONE_FILES), 0);
    has_own.count_down();
    has_other.wait();
    EXPECT_EQ(ContentOf(path_), "wanted");
  });
  has_own.wait();
  const OwnedFd other(open(other_.c_str(), O_RDONLY | O_CLOEXEC));
  has_other.count_down();
  thread.join();
}

}  // namespace
}  // namespace lagwatch::base
