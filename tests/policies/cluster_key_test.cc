// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/env.h"

namespace lagwatch::policies {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Frames = std::vector<std::string>;

WaitFrames Parse(std::string_view text) {
  auto parsed = WaitFrames::Parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(parsed).value();
}

TEST(WaitFrames, MatchesWholeNamesAndBeginnings) {
  WaitFrames frames = Parse("read\nfutex_*\n");
  EXPECT_TRUE(frames.Contains("read"));
  EXPECT_FALSE(frames.Contains("reader"));
  EXPECT_FALSE(frames.Contains("rea"));
  EXPECT_TRUE(frames.Contains("futex_wait"));
  EXPECT_TRUE(frames.Contains("futex_"));
  EXPECT_FALSE(frames.Contains("futex"));
  EXPECT_FALSE(frames.Contains("do_futex_wait"));
  EXPECT_FALSE(frames.Contains(""));
}

TEST(WaitFrames, SkipsCommentsBlanksAndEmptyLines) {
  WaitFrames frames = Parse("# wait*\n\n \t\n  poll \t# comment\r\nselect");
  EXPECT_TRUE(frames.Contains("poll"));
  EXPECT_TRUE(frames.Contains("select")) << "the last line needs no end";
  EXPECT_FALSE(frames.Contains("wait"));
  EXPECT_FALSE(frames.Contains(""));
}

TEST(WaitFrames, FindsNamesWhateverTheirOrder) {
  WaitFrames frames = Parse("c\na\nb\na\n");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(frames.Contains(name)) << name;
}

TEST(WaitFrames, NamesTheLineOfAMisplacedStar) {
  for (const char* line : {"*", "*lock", "std::*::lock", "lock**"}) {
    auto parsed = WaitFrames::Parse(std::string("# first\nread\n").append(line));
    ASSERT_FALSE(parsed.ok()) << line;
    EXPECT_EQ(parsed.status().code(), base::StatusCode::kInvalid);
    EXPECT_THAT(parsed.status().message(), HasSubstr("line 3: "));
  }
}

TEST(WaitFrames, TheShippedListNamesWaitsAndNoWork) {
  std::string text;
  ASSERT_EQ(base::SystemEnv().ReadAll(LAGWATCH_WAIT_FRAMES_FILE, &text), 0);
  WaitFrames frames = Parse(text);
  for (const char* wait :
       {"syscall", "futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "clock_nanosleep",
        "__GI___clock_nanosleep", "fsync", "epoll_wait", "std::mutex::lock",
        "std::lock_guard<std::mutex>::lock_guard", "std::unique_lock<std::mutex>::lock"}) {
    EXPECT_TRUE(frames.Contains(wait)) << wait;
  }
  for (const char* work :
       {"main", "memcpy", "malloc", "readQueryFromClient", "luaV_execute", "Editor::Save"}) {
    EXPECT_FALSE(frames.Contains(work)) << work;
  }
}

class InnermostSignificantTest : public ::testing::Test {
 protected:
  const WaitFrames waits_ = Parse("lock*\nsleep\n");
};

TEST_F(InnermostSignificantTest, DropsWaitsFromTheInnermostEndOnly) {
  const Frames stack = {"lock_slow", "lock", "Lookup", "sleep", "OnKey", "main"};
  EXPECT_THAT(InnermostSignificant(stack, 2, waits_), ElementsAre("Lookup", "sleep"));
  EXPECT_THAT(InnermostSignificant(stack, 4, waits_), ElementsAre("Lookup", "sleep", "OnKey", "main"));
}

TEST_F(InnermostSignificantTest, TakesWhatThereIsOfAShortStack) {
  EXPECT_THAT(InnermostSignificant(Frames{"sleep", "main"}, 4, waits_), ElementsAre("main"));
  EXPECT_THAT(InnermostSignificant(Frames{}, 4, waits_), IsEmpty());
}

TEST_F(InnermostSignificantTest, KeepsAStackOfNothingButWaits) {
  EXPECT_THAT(InnermostSignificant(Frames{"lock_slow", "lock", "sleep"}, 2, waits_),
              ElementsAre("lock_slow", "lock"));
}

TEST(ClusterKey, IsTheSameInEveryVersion) {
  EXPECT_EQ(ClusterKey(1, Frames{"Index::Lookup", "Editor::OnKey"}), "c5439bc0b8cb52f3");
  EXPECT_EQ(ClusterKey(2, Frames{"Index::Lookup", "Editor::OnKey", "Editor::Handle", "main"}),
            "1b3d227fbd7e346c");
}

TEST(ClusterKey, TellsLevelsFramesAndTheirOrderApart) {
  const std::string key = ClusterKey(1, Frames{"a", "b"});
  EXPECT_NE(ClusterKey(2, Frames{"a", "b"}), key);
  EXPECT_NE(ClusterKey(1, Frames{"b", "a"}), key);
  EXPECT_NE(ClusterKey(1, Frames{"ab"}), key);
  EXPECT_NE(ClusterKey(1, Frames{"a", "b", ""}), key);
  EXPECT_EQ(ClusterKey(1, Frames{"a", "b"}), key);
}

TEST(FramesOfLevel, IsTwoAndThenFour) {
  EXPECT_EQ(FramesOfLevel(1), 2u);
  EXPECT_EQ(FramesOfLevel(2), 4u);
}

}  // namespace
}  // namespace lagwatch::policies
