// SPDX-License-Identifier: Apache-2.0
#include "policies/cluster_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/process/env.h"

namespace lagwatch::policies {
namespace {

using ::testing::HasSubstr;

WaitFrames Waits(std::string_view names) {
  ClusterRules rules;
  base::Status added = rules.Add("[waits]\n" + std::string(names));
  EXPECT_TRUE(added.ok()) << added.message();
  return rules.waits();
}

TEST(FrameList, MatchesWholeNamesAndBeginnings) {
  WaitFrames frames = Waits("read\nfutex_*\n");
  EXPECT_TRUE(frames.Contains("read"));
  EXPECT_FALSE(frames.Contains("reader"));
  EXPECT_FALSE(frames.Contains("rea"));
  EXPECT_TRUE(frames.Contains("futex_wait"));
  EXPECT_TRUE(frames.Contains("futex_"));
  EXPECT_FALSE(frames.Contains("futex"));
  EXPECT_FALSE(frames.Contains("do_futex_wait"));
  EXPECT_FALSE(frames.Contains(""));
}

TEST(FrameList, MatchesNamesByBothTheirEnds) {
  WaitFrames frames = Waits("Builtins_*Handler\n");
  EXPECT_TRUE(frames.Contains("Builtins_IncHandler"));
  EXPECT_TRUE(frames.Contains("Builtins_Handler"));
  EXPECT_FALSE(frames.Contains("Builtins_IncHandlers"));
  EXPECT_FALSE(frames.Contains("IncHandler"));
  EXPECT_FALSE(frames.Contains("Builtins_Hand"));
}

TEST(FrameList, MatchesNamesByTheirEnd) {
  FrameList list;
  for (const char* pattern : {"* (queue.py)", "*wait (threading.py)", "*_wait (threading.py)"})
    list.Add(pattern);
  for (const char* name : {"get (queue.py)", "Event.wait (threading.py)", "wait (threading.py)"})
    EXPECT_TRUE(list.Contains(name)) << name;
  for (const char* name : {"get (myqueue.py)", "run (threading.py)", "(queue.py)", ""})
    EXPECT_FALSE(list.Contains(name)) << name;
}

TEST(FrameList, FindsNamesWhateverTheirOrder) {
  WaitFrames frames = Waits("c\na\nb\na\n");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(frames.Contains(name)) << name;
}

TEST(ClusterRules, SkipCommentsBlanksAndEmptyLines) {
  WaitFrames frames = Waits("# wait*\n\n \t\n  poll \t# comment\r\nselect");
  EXPECT_TRUE(frames.Contains("poll"));
  EXPECT_TRUE(frames.Contains("select")) << "the last line needs no end";
  EXPECT_FALSE(frames.Contains("wait"));
  EXPECT_FALSE(frames.Contains(""));
}

TEST(ClusterRules, GiveAFrameARoleByItsHeading) {
  ClusterRules rules;
  ASSERT_TRUE(rules.Add("[waits]\npoll\n[skipped]\nstd::*\n[modules]\nlibc.so*\n").ok());
  ASSERT_TRUE(rules.Add("[ends]\nmain\nstd::rt::lang_start*\n").ok()) << "of another file";
  EXPECT_EQ(rules.RoleOf("poll", "app"), FrameRole::kSkipped);
  EXPECT_EQ(rules.RoleOf("std::map::find", "app"), FrameRole::kSkipped);
  EXPECT_EQ(rules.RoleOf("qsort", "libc.so.6"), FrameRole::kSkipped);
  EXPECT_EQ(rules.RoleOf("main", "app"), FrameRole::kEnd);
  EXPECT_EQ(rules.RoleOf("std::rt::lang_start_internal", "app"), FrameRole::kEnd)
      << "ends go before the rest";
  EXPECT_EQ(rules.RoleOf("qsort", "app"), FrameRole::kSignificant);
  EXPECT_FALSE(rules.waits().Contains("std::map::find"));
}

TEST(ClusterRules, NameTheWrongLine) {
  for (const char* line : {"*", "*lock*", "std::*::*lock", "lock**", "[wait]"}) {
    ClusterRules rules;
    base::Status added = rules.Add(std::string("[waits]\nread\n").append(line));
    EXPECT_EQ(added.code(), base::StatusCode::kInvalid) << line;
    EXPECT_THAT(added.message(), HasSubstr("line 3: "));
  }
  EXPECT_THAT(ClusterRules().Add("# names\nread").message(), HasSubstr("line 2: a name needs a heading"));
}

TEST(ClusterRules, ThatAreShippedNameWaitsAndLibrariesAndNoWork) {
  ClusterRules rules;
  for (const auto& entry : std::filesystem::directory_iterator(LAGWATCH_CLUSTER_RULES)) {
    std::string text;
    ASSERT_EQ(base::SystemEnv().ReadAll(entry.path(), &text), 0);
    base::Status added = rules.Add(text);
    ASSERT_TRUE(added.ok()) << entry.path() << ", " << added.message();
  }
  for (const char* wait :
       {"syscall", "futex_wait", "__lll_lock_wait", "pthread_mutex_lock", "clock_nanosleep",
        "__GI___clock_nanosleep", "fsync", "epoll_wait", "std::mutex::lock",
        "std::lock_guard<std::mutex>::lock_guard", "std::unique_lock<std::mutex>::lock"}) {
    EXPECT_TRUE(rules.waits().Contains(wait)) << wait;
  }
  for (const char* skipped : {"memcpy", "malloc", "std::map::find", "core::fmt::write", "operator new",
                              "Builtins_IncHandler", "Builtins_KeyedLoadIC_Megamorphic"})
    EXPECT_EQ(rules.RoleOf(skipped, "app"), FrameRole::kSkipped) << skipped;
  for (const char* end : {"main", "_PyEval_EvalFrameDefault", "JavaCalls::call_helper"})
    EXPECT_EQ(rules.RoleOf(end, "app"), FrameRole::kEnd) << end;
  for (const char* loop : {"g_main_context_dispatch", "g_main_loop_run", "uv_run", "QEventLoop::exec"})
    EXPECT_EQ(rules.RoleOf(loop, "app"), FrameRole::kLoop) << loop;
  EXPECT_EQ(rules.RoleOf("<signal handler called>", "libc.so.6"), FrameRole::kSignal);
  for (const char* library : {"/usr/lib/x86_64-linux-gnu/libz.so.1", "libz.so.1.2.13", "deflate_slow",
                              "sqlite3VdbeExec", "multiprocessing/process.py"})
    EXPECT_TRUE(rules.IsLibrary(library)) << library;
  EXPECT_TRUE(rules.IsPackage("encoding/json.Unmarshal"));
  for (const char* own :
       {"/opt/app/lib/libshapes.so", "/home/u/libshapes.so", "orders.py", "types.py", "Pack"})
    EXPECT_FALSE(rules.IsLibrary(own)) << own;
  for (const char* work : {"readQueryFromClient", "luaV_execute", "Editor::Save", "ParseOutline", "[jit]",
                           "Builtins_ArrayPrototypeSort"}) {
    EXPECT_FALSE(rules.waits().Contains(work)) << work;
    EXPECT_EQ(rules.RoleOf(work, "app"), FrameRole::kSignificant) << work;
  }
}

TEST(FrameList, FindsThePrefixAmongOthersThatSortBetween) {
  FrameList list;
  for (const char* pattern : {"std::ab*", "std::a*", "std::abc", "z*", "std::b*"}) list.Add(pattern);
  for (const char* name : {"std::a", "std::ab", "std::abx", "std::azz::b", "std::b1", "zebra"}) {
    EXPECT_TRUE(list.Contains(name)) << name;
  }
  for (const char* name : {"std::", "std", "std::c", "a", "y", ""}) EXPECT_FALSE(list.Contains(name)) << name;
}

}  // namespace
}  // namespace lagwatch::policies
