// SPDX-License-Identifier: Apache-2.0
#include "base/process/env.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "tests/testing/temp_directory.h"

namespace lagwatch::base {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The size that this process's files may have, until the end of its scope.
class ScopedFileSizeLimit {
 public:
  explicit ScopedFileSizeLimit(rlim_t size_bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{.rlim_cur = size_bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    signal_before_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~ScopedFileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_before_);
  }

 private:
  rlimit before_;
  sighandler_t signal_before_;
};

class EnvTest : public ::testing::Test {
 protected:
  std::string ContentOf(const std::string& path) {
    std::string content;
    EXPECT_EQ(env_.ReadAll(path, &content), 0);
    return content;
  }
  void Write(const std::string& path, const std::string& content) {
    int fd = -1;
    ASSERT_EQ(env_.CreateLocked(path.c_str(), &fd), 0);
    EXPECT_EQ(env_.Append(fd, content.data(), content.size()), 0);
    env_.Close(fd);
  }
  static mode_t ModeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(lstat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }

  Env& env_ = SystemEnv();
  testing::ScopedTempDirectory directory_;
  const std::string path_ = directory_ / "file";
};

TEST_F(EnvTest, CreatesAFileForItsOwnerOnlyAndAppends) {
  int fd = -1;
  ASSERT_EQ(env_.CreateLocked(path_.c_str(), &fd), 0);
  EXPECT_EQ(ModeOf(path_), 0600u);
  EXPECT_EQ(env_.Append(fd, "one", 3), 0);
  EXPECT_EQ(env_.Append(fd, "two", 3), 0);
  EXPECT_EQ(ContentOf(path_), "onetwo");
  EXPECT_EQ(env_.Truncate(fd, 3), 0);
  EXPECT_EQ(env_.Append(fd, "2", 1), 0);
  EXPECT_EQ(ContentOf(path_), "one2") << "an append after a cut continues where the file now ends";
  env_.Close(fd);
}

TEST_F(EnvTest, CreatesNoFileThatExists) {
  Write(path_, "first");
  int fd = -1;
  EXPECT_EQ(env_.CreateLocked(path_.c_str(), &fd), EEXIST);
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(ContentOf(path_), "first");
}

TEST_F(EnvTest, FollowsNoSymbolicLink) {
  std::string link = directory_ / "link";
  ASSERT_EQ(symlink(path_.c_str(), link.c_str()), 0);
  int fd = -1;
  EXPECT_EQ(env_.CreateLocked(link.c_str(), &fd), EEXIST);
  EXPECT_NE(access(path_.c_str(), F_OK), 0) << "nothing was created through the link";

  ASSERT_EQ(env_.CreateLocked(path_.c_str(), &fd), 0);
  std::string content;
  EXPECT_EQ(env_.ReadAll(link, &content), ELOOP);
  EXPECT_FALSE(env_.IsLocked(link.c_str()));
  env_.Close(fd);
}

TEST_F(EnvTest, ALockLastsUntilClose) {
  int fd = -1;
  ASSERT_EQ(env_.CreateLocked(path_.c_str(), &fd), 0);
  EXPECT_TRUE(env_.IsLocked(path_.c_str()));
  EXPECT_TRUE(env_.IsLocked(path_.c_str())) << "looking does not take the lock";
  env_.Close(fd);
  EXPECT_FALSE(env_.IsLocked(path_.c_str()));
}

TEST_F(EnvTest, ALockLastsUntilTheEndOfItsProcessWhateverThatIs) {
  int created[2];
  ASSERT_EQ(pipe(created), 0);
  pid_t child = fork();
  if (child == 0) {
    int fd;
    char error = static_cast<char>(env_.CreateLocked(path_.c_str(), &fd));
    if (write(created[1], &error, 1) == 1) pause();
    _exit(1);
  }
  char error = -1;
  ASSERT_EQ(read(created[0], &error, 1), 1);
  EXPECT_EQ(error, 0);
  EXPECT_TRUE(env_.IsLocked(path_.c_str()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(env_.IsLocked(path_.c_str()));
  close(created[0]);
  close(created[1]);
}

TEST_F(EnvTest, AFileThatCannotBeOpenedNowMayBeLocked) {
  int fd;
  ASSERT_EQ(env_.CreateLocked(path_.c_str(), &fd), 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NOFILE, &none);
    _exit(env_.IsLocked(path_.c_str()) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  env_.Close(fd);
}

TEST_F(EnvTest, NothingIsNotLocked) { EXPECT_FALSE(env_.IsLocked(path_.c_str())); }

TEST_F(EnvTest, SaysWhenAnAppendWasCutShortOrRefused) {
  int fd = -1;
  ASSERT_EQ(env_.CreateLocked(path_.c_str(), &fd), 0);
  {
    ScopedFileSizeLimit limit(5);
    EXPECT_EQ(env_.Append(fd, "12345678", 8), EIO);
    EXPECT_EQ(env_.Append(fd, "9", 1), EFBIG);
  }
  EXPECT_EQ(ContentOf(path_), "12345");
  EXPECT_EQ(env_.Append(fd, "6", 1), 0);
  env_.Close(fd);
  EXPECT_EQ(env_.Append(fd, "7", 1), EBADF);
}

TEST_F(EnvTest, AppendsTwoPiecesAsOne) {
  int fd = -1;
  ASSERT_EQ(env_.CreateLocked(path_.c_str(), &fd), 0);
  EXPECT_EQ(env_.AppendBoth(fd, "head", "body"), 0);
  EXPECT_EQ(env_.AppendBoth(fd, "", ""), 0);
  {
    ScopedFileSizeLimit limit(14);
    EXPECT_EQ(env_.AppendBoth(fd, "HEAD", "BODY"), EIO) << "cut short within the second piece";
  }
  EXPECT_EQ(ContentOf(path_), "headbodyHEADBO");
  env_.Close(fd);
}

TEST_F(EnvTest, SaysWhatAFileIsWithoutOpeningIt) {
  Write(path_, "12345");
  FileFacts facts;
  ASSERT_EQ(env_.Look(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.kind, FileFacts::FileKind::kFile);
  EXPECT_TRUE(facts.is_own);
  EXPECT_EQ(facts.owner_id, geteuid());
  EXPECT_EQ(facts.mode, 0600u);
  EXPECT_EQ(facts.size_bytes, 5u);
  const timespec times[2] = {{1000, 0}, {1000, 7'000'000}};
  ASSERT_EQ(utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  std::string content;
  ASSERT_EQ(env_.ReadFile(path_, &content, &facts), 0);
  EXPECT_EQ(content, "12345");
  EXPECT_EQ(facts.modified_wall_ms, 1'000'007);
  ASSERT_EQ(env_.Look(directory_.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.kind, FileFacts::FileKind::kDirectory);
  ASSERT_EQ(symlink(path_.c_str(), (directory_ / "link").c_str()), 0);
  ASSERT_EQ(env_.Look((directory_ / "link").c_str(), &facts), 0);
  EXPECT_EQ(facts.kind, FileFacts::FileKind::kLink);
  EXPECT_EQ(env_.Look((directory_ / "nothing").c_str(), &facts), ENOENT);
}

TEST_F(EnvTest, SyncsFilesAndDirectoriesButNoLink) {
  Write(path_, "12345");
  EXPECT_EQ(env_.Sync(path_.c_str()), 0);
  EXPECT_EQ(env_.Sync(directory_.path().c_str()), 0);
  EXPECT_EQ(env_.Sync((directory_ / "nothing").c_str()), ENOENT);
  ASSERT_EQ(symlink(path_.c_str(), (directory_ / "link").c_str()), 0);
  EXPECT_EQ(env_.Sync((directory_ / "link").c_str()), ELOOP);
}

TEST_F(EnvTest, RenamesOverWhatIsThere) {
  Write(path_, "new");
  std::string target = directory_ / "target";
  Write(target, "old");
  EXPECT_EQ(env_.Rename(path_.c_str(), target.c_str()), 0);
  EXPECT_EQ(ContentOf(target), "new");
  EXPECT_THAT(directory_.Files(), ElementsAre("target"));
  EXPECT_EQ(env_.Rename(path_.c_str(), target.c_str()), ENOENT);
}

TEST_F(EnvTest, RemovesAFileOnce) {
  Write(path_, "");
  EXPECT_EQ(env_.Remove(path_.c_str()), 0);
  EXPECT_EQ(env_.Remove(path_.c_str()), ENOENT);
}

TEST_F(EnvTest, CreatesDirectoriesWithTheirParentsForTheirOwnerOnly) {
  std::string inner = directory_ / "a/b/c";
  EXPECT_EQ(env_.CreateDirectories(inner), 0);
  EXPECT_EQ(ModeOf(directory_ / "a"), 0700u);
  EXPECT_EQ(ModeOf(inner), 0700u);
  EXPECT_EQ(env_.CreateDirectories(inner), 0) << "it may exist";
  EXPECT_EQ(env_.CreateDirectories(inner + "//d/"), 0);
  EXPECT_EQ(ModeOf(inner + "/d"), 0700u);
}

TEST_F(EnvTest, CreatesNoDirectoryWhereAFileIs) {
  Write(path_, "");
  EXPECT_EQ(env_.CreateDirectories(path_), ENOTDIR);
  EXPECT_EQ(env_.CreateDirectories(path_ + "/inside"), ENOTDIR);
  EXPECT_EQ(env_.CreateDirectories(""), ENOENT);
}

TEST_F(EnvTest, ListsNamesInOrder) {
  std::vector<std::string> names = {"from before"};
  EXPECT_EQ(env_.List(directory_.path(), &names), 0);
  EXPECT_THAT(names, IsEmpty());
  for (const char* name : {"b", "c", "a"}) Write(directory_ / name, "");
  EXPECT_EQ(env_.List(directory_.path(), &names), 0);
  EXPECT_THAT(names, ElementsAre("a", "b", "c"));
  EXPECT_EQ(env_.List(directory_ / "nowhere", &names), ENOENT);
  EXPECT_THAT(names, IsEmpty());
}

TEST_F(EnvTest, ReadsAFileLongerThanItsBuffer) {
  std::string content(200'000, 'x');
  content.back() = 'y';
  Write(path_, content);
  EXPECT_EQ(ContentOf(path_), content);
}

TEST_F(EnvTest, ReadsSixtyFourMebibytesAndNoMore) {
  constexpr off_t kMaxBytes = 64 << 20;
  Write(path_, "");
  std::string content;
  ASSERT_EQ(truncate(path_.c_str(), kMaxBytes), 0);
  EXPECT_EQ(env_.ReadAll(path_, &content), 0);
  EXPECT_EQ(content.size(), static_cast<size_t>(kMaxBytes));
  ASSERT_EQ(truncate(path_.c_str(), kMaxBytes + 1), 0);
  EXPECT_EQ(env_.ReadAll(path_, &content), EFBIG);
}

TEST_F(EnvTest, DoesNotWaitForAFifosWriter) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FALSE(env_.IsLocked(path_.c_str()));
  EXPECT_EQ(ContentOf(path_), "");
}

TEST_F(EnvTest, ReadsNothingWhereNoFileIs) {
  std::string content = "from before";
  EXPECT_EQ(env_.ReadAll(path_, &content), ENOENT);
  EXPECT_EQ(content, "");
  EXPECT_EQ(env_.ReadAll(directory_.path(), &content), EISDIR);
}

}  // namespace
}  // namespace lagwatch::base
