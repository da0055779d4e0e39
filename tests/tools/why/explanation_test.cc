// SPDX-License-Identifier: Apache-2.0
// The words of `lagwatch why`.
#include "tools/why/explanation.h"

#include <gtest/gtest.h>

#include <string>

#include "tools/why/wait_words.h"

namespace lagwatch::tools {
namespace {

Json Frame(const std::string& function) {
  return {{"function", function}, {"module", "app"}, {"offset", "0x1"}};
}

Json At(int tid, const std::string& name, const std::string& function) {
  return {{"tid", tid},
          {"name", name},
          {"at", function},
          {"stack", Json::array({Frame(function), Frame("Run")})}};
}

Json WaitOf(int tid, const std::string& kind, const Json& owner) {
  Json wait = At(tid, "waiter", "Wait");
  wait["lock"] = "0x10";
  wait["kind"] = kind;
  wait["for"] = owner.is_null() ? "unknown" : "owner";
  wait["owner"] = owner;
  return wait;
}

Json PeerAt(int pid, const std::string& name, const std::string& state, bool is_idle) {
  Json peer = At(pid, name, "Answer");
  peer["process"] = {{"pid", pid}, {"name", name}};
  peer["state"] = state;
  peer["idle"] = is_idle;
  return peer;
}

Json Report(const Json& waits) {
  return {{"pid", 10}, {"waits", waits}, {"deadlock", false}, {"facts", Json::object()}};
}

TEST(WaitWordsTest, NamesOwnersWithinTheProcess) {
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "mutex", At(12, "backup", "Backup"))})), "computes"),
            "a mutex that thread 12 (backup) holds in Backup, called by Run, which computes");
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(11, "mutex", At(10, "app", "Draw"))})), ""),
            "a mutex that the main thread (10) holds in Draw, called by Run");
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "once", At(12, "init", "Init"))})), ""),
            "the initializer that thread 12 (init) runs in Init, called by Run");
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "class", At(12, "init", "Init"))})), ""),
            "the initializer of a class that thread 12 (init) runs in Init, called by Run");
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "thread", At(12, "loader", "Load"))})),
                       "sleeps by its own will"),
            "thread 12 (loader) to end, which sleeps by its own will");
}

TEST(WaitWordsTest, NamesOtherProcesses) {
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "child", PeerAt(99, "sleep", "S", false))})), ""),
            "its child sleep (pid 99) to end, which waits in Answer, called by Run");
  EXPECT_EQ(
      ChainWords(Report(Json::array({WaitOf(10, "unix-socket", PeerAt(99, "server", "R", false))})), ""),
      "an answer by a unix socket, from server (pid 99), which runs in Answer, called by Run");
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "connection", PeerAt(99, "server", "S", true))})), ""),
            "an answer by TCP, from server (pid 99), which is idle, as if nothing had been asked");
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "file-lock", PeerAt(99, "backup", "T", false))})), ""),
            "a file lock that backup (pid 99) holds in Answer, called by Run, which is stopped");
}

TEST(WaitWordsTest, SaysThatADeadlockDoesNotEnd) {
  Json report =
      Report(Json::array({WaitOf(10, "mutex", At(12, "b", "B")), WaitOf(12, "mutex", At(10, "a", "A"))}));
  report["deadlock"] = true;
  EXPECT_EQ(ChainWords(report, "waits"),
            "a mutex that thread 12 (b) holds in B, called by Run, which waits for a mutex that the main "
            "thread (10) "
            "holds in A, called by Run: a deadlock, which never ends by itself");
}

TEST(WaitWordsTest, SaysWhatIsNotKnown) {
  EXPECT_EQ(ChainWords(Report(Json::array({WaitOf(10, "mutex", nullptr)})), ""),
            "a mutex of which the owner is not known");
  Json wait = WaitOf(10, "condition", nullptr);
  wait["for"] = "signal";
  EXPECT_EQ(ChainWords(Report(Json::array({wait})), ""), "another thread's signal (condition)");
  EXPECT_EQ(ChainWords(Report(Json::array()), "computes"), "");
}

TEST(WaitWordsTest, CutsALongChain) {
  Json waits = Json::array();
  for (int i = 0; i < 6; ++i) waits.push_back(WaitOf(10 + i, "mutex", At(11 + i, "t", "F")));
  EXPECT_TRUE(ChainWords(Report(waits), "").ends_with("… (the whole chain is below)"));
}

TEST(WaitWordsTest, LeavesOutFunctionsWithoutNames) {
  const Json stack = Json::array({Frame("app+0x10"), Frame("Parse"), Frame("Parse"), Frame("Load")});
  EXPECT_EQ(InWords(stack, "app+0x10"), " in Parse, called by Load");
  EXPECT_EQ(InWords(Json::array({Frame("app+0x10"), Frame("_start")}), "app+0x10"), " in app+0x10");
  EXPECT_EQ(InWords(Json::array(), ""), "");
}

TEST(WaitWordsTest, NamesTheFileAndItsDisk) {
  EXPECT_EQ(DiskWords("fsync", "/var/x.db",
                      {{"file_system", "ext4"},
                       {"file_system_mount", "/var"},
                       {"block_device", "sda1"},
                       {"block_device_requests", 3}}),
            "a disk or a device: fsync of /var/x.db (ext4 at /var, device sda1, 3 requests under way)");
  EXPECT_EQ(DiskWords("", "", Json::object()), "a disk or a device");
}

}  // namespace
}  // namespace lagwatch::tools
