// SPDX-License-Identifier: Apache-2.0
// Programs in containers, by what the kernel gives them: namespaces and control groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "tests/testing/configured_collector.h"
#include "tests/testing/control_group.h"
#include "tests/tools/run/attach_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::WaitUntil;

class AttachContainerTest : public AttachRunningTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "namespaces need root";
  }
  // The program with what the kernel gives a container: its own processes, mounts and host name. An empty
  // file system covers lagwatch's folder there.
  std::vector<std::string> Contained() const {
    const fs::path binaries = fs::path(LAGWATCH_PROGRAM).parent_path().parent_path();
    const std::string folder = directory_ / "";
    const std::string prepare = "cd " + folder + " && cp " + LAGWATCH_ATTACHED_PROGRAM + " program && echo " +
                                name_ +
                                " > hostname && mount --bind hostname /etc/hostname && mount -t tmpfs none " +
                                binaries.string() + " && exec ./program loop";
    return {"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child",
            "--mount-proc",     "/bin/sh", "-c",    prepare};
  }
  std::vector<std::string> Attach(std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {LAGWATCH_PROGRAM, "attach", "--container", name_, "--threshold-ms", "200",
                                 "--spool", spool_});
    return flags;
  }

  const std::string name_ = "box-" + std::to_string(getpid());
};

TEST_F(AttachContainerTest, ReportsReachACollectorThoughTheContainerHasEnded) {
  testing::ConfiguredCollector collector(directory_ / "data");
  collector.Start();
  Process program(Contained());
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  Process attach(Attach({"--endpoint", collector.endpoint(), "--key", collector.kKey}));
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  usleep(200'000);
  Freeze(&program);
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), -SIGKILL);
  json reports;
  EXPECT_TRUE(WaitUntil([&] {
    Process question({LAGWATCH_PROGRAM, "reports", "--endpoint", collector.endpoint(), "--token",
                      collector.admin_token(), "--json"});
    if (question.Wait() != 0) return false;
    reports = json::parse(question.Output(), nullptr, /*allow_exceptions=*/false);
    return reports.is_array() && !reports.empty();
  })) << attach.Errors();
  EXPECT_EQ(reports[0]["kind"], "lag") << reports.dump(1);
}

TEST_F(AttachContainerTest, LoadsByMemoryWithoutSeeingTheLibrary) {
  Process program(Contained());
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  Process attach(Attach());
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  const pid_t pid = std::stoi(attach.Output().substr(std::string("process ").size()));
  EXPECT_NE(pid, program.pid()) << "the one in the container, not unshare";
  usleep(200'000);
  Freeze(&program);
  ASSERT_TRUE(WaitUntil([&] { return Reports() == 1; }));
  EXPECT_THAT(Ask({"report", Ask({"reports"})[0]["id"]}).dump(), HasSubstr("FreezeForAWhile"));
  EXPECT_THAT(Contents("/proc/" + std::to_string(pid) + "/maps"), HasSubstr("/memfd:lagwatch/"));
  EXPECT_EQ(Do("detach", pid), 0) << errors_;
  EXPECT_EQ(Do("attach", pid), 0) << errors_;
  EXPECT_EQ(Do("detach", pid), 0) << errors_;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code error;
    EXPECT_THAT(fs::read_symlink(entry.path(), error).string(), ::testing::Not(HasSubstr("memfd:lagwatch")));
  }
  const std::string outside = directory_ / "outside";
  Process watch(
      {LAGWATCH_PROGRAM, "watch", "--container", name_, "--threshold-ms", "200", "--spool", outside});
  ASSERT_TRUE(WaitUntil([&] {
    return watch.Errors().find("(" + std::to_string(pid) + ") is watched from outside") != std::string::npos;
  })) << watch.Errors();
  EXPECT_EQ(watch.Errors().find("(" + std::to_string(getpid()) + ")"), std::string::npos);
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.Wait(), 0) << watch.Errors();
  Process unknown({LAGWATCH_PROGRAM, "attach", "--container", name_ + "x"});
  EXPECT_EQ(unknown.Wait(), 2);
  EXPECT_THAT(unknown.Errors(), HasSubstr("no container"));
}

TEST_F(AttachContainerTest, DetachesAfterTheFirstHang) {
  Process program(Contained());
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  Process attach(Attach({"--until", "hang"}));
  ASSERT_TRUE(WaitUntil([&] { return attach.Output().find("is watched") != std::string::npos; }));
  usleep(200'000);
  Freeze(&program);
  EXPECT_TRUE(WaitUntil([&] { return attach.Output().find("not watched any more") != std::string::npos; }));
  EXPECT_EQ(attach.Wait(), 0) << attach.Errors();
}

TEST_F(AttachContainerTest, IsWatchedAgainAfterItsNextStart) {
  const auto is_watched = [&](Process& watch) {
    return WaitUntil([&] { return watch.Errors().find("is watched from outside") != std::string::npos; });
  };
  Process watch({LAGWATCH_PROGRAM, "watch", "--container", name_, "--spool", spool_});
  EXPECT_EQ(watch.Wait(), 2) << "there is none yet";
  auto program = std::make_unique<Process>(Contained());
  ASSERT_TRUE(IsReady(*program)) << program->Errors();
  Process goes_on({LAGWATCH_PROGRAM, "watch", "--container", name_, "--spool", spool_});
  ASSERT_TRUE(is_watched(goes_on)) << goes_on.Errors();
  program->CloseInput();
  EXPECT_EQ(program->Wait(), 0);
  ASSERT_TRUE(WaitUntil([&] { return goes_on.Errors().find("has ended") != std::string::npos; }));
  const size_t before = goes_on.Errors().size();
  program = std::make_unique<Process>(Contained());
  EXPECT_TRUE(WaitUntil([&] {
    return goes_on.Errors().substr(before).find("is watched from outside") != std::string::npos;
  })) << goes_on.Errors();
  goes_on.Signal(SIGINT);
  EXPECT_EQ(goes_on.Wait(), 0);
}

// Users name groups as they like.
TEST_F(AttachContainerTest, IsFoundByItsGroupButAHostsProcessIsNone) {
  const std::string name = "grouped-" + std::to_string(getpid());
  const testing::ScopedControlGroup group("pids", "machine-" + name + ".scope");
  Process attach_to({LAGWATCH_PROGRAM, "attach", "--container", name, "--spool", spool_});
  EXPECT_EQ(attach_to.Wait(), 2);
  Process host({LAGWATCH_ATTACHED_PROGRAM, "loop"});
  ASSERT_TRUE(IsReady(host));
  if (!group.Take(host.pid())) GTEST_SKIP() << "no control groups can be made";
  Process attach({LAGWATCH_PROGRAM, "attach", "--container", name, "--spool", spool_});
  EXPECT_EQ(attach.Wait(), 2) << attach.Output();
  EXPECT_THAT(attach.Errors(), HasSubstr("no container"));

  Process program(Contained());
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  const std::string children =
      "/proc/" + std::to_string(program.pid()) + "/task/" + std::to_string(program.pid()) + "/children";
  const pid_t first = std::stoi(Contents(children));
  ASSERT_TRUE(group.Take(first));
  Process again({LAGWATCH_PROGRAM, "attach", "--container", name, "--spool", spool_});
  EXPECT_EQ(again.Wait(), 0) << again.Errors();
  EXPECT_THAT(again.Output(), HasSubstr("process " + std::to_string(first) + " is watched"));
  for (Process* one : {&host, &program}) {
    one->CloseInput();
    EXPECT_EQ(one->Wait(), 0);
  }
}

// As root, lagwatch could write to files that the program only reads.
TEST_F(AttachContainerTest, WritesToNoFileThatAProgramPassesForMemory) {
  const std::string folder = directory_ / "";
  std::ofstream(directory_ / "victim").flush();
  const std::string script = "set -e; PATH=/usr/bin:/usr/sbin; cd " + folder +
                             "; mkdir root; mount -t tmpfs none root; cd root; mkdir -p usr proc etc before "
                             "memfd:lagwatch ./" +
                             folder +
                             "; mount --rbind /usr usr; ln -s usr/lib usr/lib64 usr/bin .; "
                             "cp " LAGWATCH_ATTACHED_PROGRAM " program; echo " +
                             name_ +
                             " > etc/hostname; : > memfd:lagwatch/liblagwatch-preload.so; "
                             "mount --bind ../victim memfd:lagwatch/liblagwatch-preload.so; "
                             "mount -t proc proc proc; pivot_root . before; cd /; "
                             "exec 9< /memfd:lagwatch/liblagwatch-preload.so; umount -l before; "
                             "exec ./program loop";
  Process program(
      {"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", script});
  ASSERT_TRUE(IsReady(program)) << program.Errors();
  Process attach(Attach());
  ASSERT_EQ(attach.Wait(), 0) << attach.Errors();
  EXPECT_EQ(fs::file_size(directory_ / "victim"), 0U);
  program.CloseInput();
  EXPECT_EQ(program.Wait(), 0);
}

}  // namespace
}  // namespace lagwatch::tools
