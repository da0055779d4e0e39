// SPDX-License-Identifier: Apache-2.0
// No descriptor of the library is in the program's table, and what the program does with its own descriptors,
// its root, its user and its limits neither meets the library's files nor takes them away.
#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>

#include "base/process/quiet_thread.h"
#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::WaitUntil;

constexpr uid_t kOtherUser = 65534;

// Of the whole process, without the one that lists them.
std::set<int> Descriptors() {
  std::set<int> numbers;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.') numbers.insert(std::atoi(entry->d_name));
  }
  numbers.erase(dirfd(directory));
  closedir(directory);
  return numbers;
}

// A thread of the program that opens and closes all the time, and is the only one that does. Each time it
// must get the lowest number, and find it open until it closes it.
class LowestNumber {
 public:
  LowestNumber() : thread_([this] { Run(); }) {}
  ~LowestNumber() {
    stop_ = true;
    thread_.join();
    EXPECT_GT(rounds_, 100);
    EXPECT_EQ(missed_, 0) << "of " << rounds_ << " rounds";
    EXPECT_EQ(lost_, 0) << "of " << rounds_ << " rounds";
  }

 private:
  void Run() {
    const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(lowest);
    for (; !stop_; ++rounds_) {
      const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
      missed_ += fd == lowest ? 0 : 1;
      lost_ += close(fd) == 0 ? 0 : 1;
    }
  }

  std::atomic<bool> stop_{false};
  int rounds_ = 0;
  int missed_ = 0;
  int lost_ = 0;
  std::thread thread_;
};

class OwnFiles : public SdkTest {
 protected:
  void SetUp() override {
    bool has_own_files = false;
    EXPECT_TRUE(base::RunWithOwnFiles([&] { has_own_files = base::HasOwnFiles(); }));
    if (!has_own_files) GTEST_SKIP() << "this kernel, or this sanitizer, shares all descriptors";
  }
  // A dispatch that spins until `is_over`, or until one more report is written; no file is opened for it.
  static bool Freeze(
      Monitor& monitor, Loop loop, const char* tag, std::function<bool()> is_over = [] { return true; }) {
    const uint64_t before = monitor.stats().reports_written;
    ScopedDispatch dispatch(loop, tag);
    testing::StopFlag stop{false};
    bool is_reported = false;
    std::thread judge([&] {
      is_reported = WaitUntil([&] { return monitor.stats().reports_written > before && is_over(); });
      stop = true;
    });
    testing::Spin(stop);
    judge.join();
    return is_reported;
  }
  // In a child, whose user, root and limits may be changed: starts a monitor there, calls `change`, and
  // freezes. The child ends by _exit() and leaves its segments as they are.
  int FreezeInChildAfter(const std::function<bool()>& change) {
    return InForkedChild([&] {
      auto monitor = Monitor::Start(TestOptions());
      auto loop = monitor.WatchLoop("ui");
      if (!monitor.is_on()) return 1;
      if (!change()) return 2;
      return Freeze(monitor, loop, "after the change") ? 0 : 3;
    });
  }
  void ExpectAReportWithAStack() {
    const auto reports = Reports();
    ASSERT_FALSE(reports.empty());
    const report::Report& report = reports.front();
    EXPECT_EQ(report.tag, "after the change");
    EXPECT_GE(report.stacks[report.expensive_stack].frames.size(), 3u);
  }
};

TEST_F(OwnFiles, TheProgramsDescriptorsAreItsOwnDuringHangsAndUploads) {
  Options options = TestOptions();
  options.upload.user_rate_ppm = 1'000'000;
  options.endpoint = "http://127.0.0.1:1";  // where no server answers: sockets come and go
  options.trace.is_on = true;
  options.trace.has_hooks = true;
  const std::set<int> before = Descriptors();
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  EXPECT_EQ(Descriptors(), before);
  {
    const LowestNumber lowest;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(Freeze(monitor, loop, "frozen"));
    EXPECT_TRUE(WaitUntil([&] { return monitor.stats().traces_written > 0; }));
  }
  EXPECT_EQ(Descriptors(), before);
  monitor.Stop(0);
  EXPECT_EQ(Descriptors(), before);
  EXPECT_FALSE(Reports().empty());
}

// Standard input is what close(0) followed by open() replaces in many programs.
TEST_F(OwnFiles, AProgramThatClosesAllItDoesNotKnowGetsZeroFromOpen) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  const int result = Freeze(monitor, loop, "frozen") ? 0 : 1;
  ASSERT_EQ(result, 0);
  const int saved = fcntl(0, F_DUPFD_CLOEXEC, 200);
  for (int fd = 3; fd < 200; ++fd) close(fd);
  close(0);
  int missed = 0;
  EXPECT_TRUE(Freeze(monitor, loop, "frozen again", [&] {
    for (int i = 0; i < 10000; ++i) {
      missed += open("/dev/null", O_RDONLY | O_CLOEXEC) == 0 ? 0 : 1;
      close(0);
    }
    return true;
  }));
  EXPECT_EQ(missed, 0);
  if (saved >= 0) dup2(saved, 0);
  monitor.Stop();
  EXPECT_FALSE(Reports().empty());
}

TEST_F(OwnFiles, AForkedChildInheritsNone) {
  auto monitor = Monitor::Start(TestOptions());
  auto loop = monitor.WatchLoop("ui");
  const std::set<int> before = Descriptors();
  EXPECT_TRUE(Freeze(monitor, loop, "forks", [&] {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(InForkedChild([&] { return Descriptors() == before ? 0 : 1; }), 0);
    return true;
  }));
}

TEST_F(OwnFiles, TheProgramsCallbacksHaveTheProgramsDescriptors) {
  struct Host {
    int fd;
    std::atomic<int> listened{0};
    std::atomic<int> posted{0};
    std::atomic<int> failed{0};
    void Write(std::atomic<int>* calls) {
      if (write(fd, "x", 1) != 1) ++failed;
      ++*calls;
    }
  };
  const int log = open((directory_ / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  Host host{.fd = log};
  Options options = TestOptions();
  options.upload.user_rate_ppm = 1'000'000;
  options.listener.context = &host;
  options.listener.hang_begin = [](void* context, const lw_hang*) {
    auto* told = static_cast<Host*>(context);
    told->Write(&told->listened);
  };
  options.upload.transport.context = &host;
  options.upload.transport.post = [](void* context, const void*, size_t, char*, size_t* answer_size_bytes) {
    auto* told = static_cast<Host*>(context);
    told->Write(&told->posted);
    *answer_size_bytes = 0;
    return 202;
  };
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  EXPECT_TRUE(Freeze(monitor, loop, "told"));
  monitor.Stop(60'000);
  EXPECT_GT(host.listened, 0);
  EXPECT_GT(host.posted, 0);
  EXPECT_EQ(host.failed, 0);
  EXPECT_EQ(std::filesystem::file_size(directory_ / "log"), static_cast<size_t>(host.listened + host.posted));
  close(log);
}

TEST_F(OwnFiles, NoEmptySegmentIsLeftByAProgramThatEndsWell) {
  auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / "spool"))
      names.push_back(entry.path().filename().string());
    return names;
  };
  auto monitor = Monitor::Start(TestOptions());
  EXPECT_THAT(files(), Contains(EndsWith(".open"))) << "opened ahead";
  monitor.Stop();
  EXPECT_THAT(files(), Not(Contains(EndsWith(".open"))));
  // One that never stops its monitor.
  EXPECT_EQ(InForkedChild([&] {
              static auto in_child = Monitor::Start(TestOptions());
              std::exit(in_child.is_on() ? 0 : 1);
              return 1;
            }),
            0);
  EXPECT_THAT(files(), Not(Contains(EndsWith(".open"))));
  // One that is killed: until the next start.
  EXPECT_EQ(InForkedChild([&] {
              static auto in_child = Monitor::Start(TestOptions());
              return in_child.is_on() ? 0 : 1;
            }),
            0);
  EXPECT_THAT(files(), Contains(EndsWith(".open")));
  Monitor::Start(TestOptions()).Stop();
  EXPECT_THAT(files(), Not(Contains(EndsWith(".open"))));
  EXPECT_THAT(Reports(), IsEmpty());
}

TEST_F(OwnFiles, ReportsAfterTheProgramHasChangedItsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may change it";
  const std::string empty = directory_ / "empty";
  std::filesystem::create_directory(empty);
  EXPECT_EQ(FreezeInChildAfter([&] { return chroot(empty.c_str()) == 0 && chdir("/") == 0; }), 0);
  ExpectAReportWithAStack();
}

TEST_F(OwnFiles, ReportsAfterTheProgramHasDroppedItsPrivileges) {
  if (geteuid() != 0) GTEST_SKIP() << "only root has any";
  EXPECT_EQ(FreezeInChildAfter([&] { return setgid(kOtherUser) == 0 && setuid(kOtherUser) == 0; }), 0);
  ASSERT_FALSE(Reports().empty());
  EXPECT_EQ(Reports().front().tag, "after the change");
  EXPECT_THAT(std::filesystem::directory_iterator(directory_ / "spool")->path().string(), Not(IsEmpty()));
}

TEST_F(OwnFiles, ReportsWhenNoDescriptorIsLeftToTheProgram) {
  auto fill = [] {
    const rlimit limit{64, 64};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) continue;
    return true;
  };
  EXPECT_EQ(FreezeInChildAfter(fill), 0);
  ExpectAReportWithAStack();
}

TEST_F(OwnFiles, ReportsWhenTheLimitOfDescriptorsIsLow) {
  auto lower = [] {
    const rlimit limit{3, 3};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
  };
  EXPECT_EQ(FreezeInChildAfter(lower), 0);
  ExpectAReportWithAStack();
}

TEST_F(OwnFiles, ReportsWhenNothingCanBeOpenedAnyMore) {
  auto lower = [] {
    const rlimit limit{0, 0};
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
  };
  EXPECT_EQ(FreezeInChildAfter(lower), 0);
  EXPECT_FALSE(Reports().empty());
}

TEST_F(OwnFiles, KeepsToItsSpoolWhenTheProgramMovesAndMasksItsFiles) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  Options options = TestOptions();
  options.spool_directory = "spool";
  auto monitor = Monitor::Start(options);
  auto loop = monitor.WatchLoop("ui");
  std::filesystem::current_path(before);
  const mode_t mask = umask(0777);
  EXPECT_TRUE(Freeze(monitor, loop, "first"));
  EXPECT_TRUE(Freeze(monitor, loop, "second"));
  umask(mask);
  EXPECT_GE(Reports().size(), 2u);
  monitor.Stop();
}

}  // namespace
}  // namespace lagwatch
