// SPDX-License-Identifier: Apache-2.0
// Programs that are watched from outside: a static one, and Python.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/testing/control_group.h"
#include "tests/tools/watch/watch_testing.h"

namespace lagwatch::tools {
namespace {

using testing::WaitUntil;

TEST_F(WatchTest, ReportsAHandlerThatSleeps) { ExpectOne(ReportsOf("sleeps"), "SleepInHandler"); }

TEST_F(WatchTest, TakesALoopOfOneDescriptorInAProgramThatIsNamed) {
  ExpectOne(ReportsOf("single"), "WaitForChildInHandler");
}

TEST_F(WatchTest, ReportsAHandlerThatComputes) {
  if (!AreReturnsCounted()) GTEST_SKIP() << "this machine counts no returns";
  ExpectOne(ReportsOf("computes"), "ComputeInHandler");
}

TEST_F(WatchTest, ReportsAHandlerThatWaitsForOtherDescriptors) {
  ExpectOne(ReportsOf("answers"), "AwaitAnswerInHandler");
}

void ExpectKeptLock(const json& report) {
  const json waits = report.value("waits", json::array());
  ASSERT_FALSE(waits.empty()) << report.dump(1);
  EXPECT_EQ(waits.at(0).at("kind"), "mutex");
  EXPECT_NE(waits.at(0).at("owner").at("stack").dump().find("KeepLock"), std::string::npos) << waits.dump(1);
}

TEST_F(WatchTest, NamesTheThreadThatKeepsALock) {
  const std::vector<json> reports = Reports({LAGWATCH_WATCHED_SHARED_PROGRAM, "locks"});
  ExpectOne(reports, "LockInHandler");
  ExpectKeptLock(reports[0]);
}

TEST_F(WatchTest, NamesTheThreadThatKeepsALockOfAStaticProgram) {
  const std::vector<json> reports = ReportsOf("locks");
  ExpectOne(reports, "LockInHandler");
  ExpectKeptLock(reports[0]);
}

// As in a container, whose files are others.
TEST_F(WatchTest, NamesTheThreadThatKeepsALockBesideACopyOfTheLibrary) {
  Dl_info library{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(dlsym(RTLD_DEFAULT, "pthread_mutex_lock")), &library), 0);
  const std::filesystem::path copy = directory_ / "libc.so.6";
  std::filesystem::copy(library.dli_fname, copy);
  const std::vector<json> reports = Reports({"/usr/bin/env", "LD_LIBRARY_PATH=" + copy.parent_path().string(),
                                             LAGWATCH_WATCHED_SHARED_PROGRAM, "locks"});
  ExpectOne(reports, "LockInHandler");
  ExpectKeptLock(reports[0]);
}

// `se.exec_start` of that file of proc(5): when the thread has run last, in its processor's clock; 0 if the
// kernel does not say.
double LastRunMs(const std::string& file) {
  std::ifstream sched(file);
  const std::string text(std::istreambuf_iterator<char>(sched), {});
  const size_t line = text.find("se.exec_start");
  return line == std::string::npos ? 0 : std::stod(text.substr(text.find(':', line) + 1));
}

// The length of the process's sleep so far, as the kernel has it: nothing where it moved the sleeping thread
// to another processor, and less than that where a virtual machine's host takes idle time for stolen.
double KnownSleepMs(pid_t pid) {
  const std::string directory = "/proc/" + std::to_string(pid);
  std::ifstream stat(directory + "/stat");
  std::string field;
  for (int i = 0; i < 39; ++i) stat >> field;
  const double ran_ms = LastRunMs(directory + "/sched");
  double clock_ms = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(std::stoi(field), &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) clock_ms = LastRunMs("/proc/thread-self/sched");
  }).join();
  return ran_ms == 0 ? 0 : std::max(0.0, clock_ms - ran_ms);
}

TEST_F(WatchTest, ReportsAProgramThatHasBeenFrozenBefore) {
  Process program({LAGWATCH_WATCHED_SHARED_PROGRAM, "locks", "0", "3"});
  ASSERT_TRUE(WaitUntil([&] { return program.Output().starts_with("begun"); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const double known_ms = KnownSleepMs(program.pid());
  Process watcher(Watch({std::to_string(program.pid())}));
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(watcher.Wait(), 0) << watcher.Errors();
  const json headers = Ask({"reports"});
  ASSERT_EQ(headers.size(), 1u) << headers.dump(1);
  const json report = Ask({"report", headers.at(0).at("id")});
  EXPECT_NE(report.at("expensive_stack").dump().find("LockInHandler"), std::string::npos) << report.dump(1);
  EXPECT_TRUE(report.at("facts").contains("lasted_at_least"));
  EXPECT_TRUE(report.at("ended").get<bool>());
  const double duration_ms = report.at("duration_ms").get<double>();
  EXPECT_GT(duration_ms, known_ms == 0 ? 500 : 1300 + std::min(known_ms, 1000.0))
      << "of 3 s; known " << known_ms;
  EXPECT_LT(duration_ms, 3600) << "of 3 s; known " << known_ms;
}

void ExpectPeer(const json& report) {
  ASSERT_EQ(report.at("waits").size(), 1u) << report.at("waits").dump(1);
  const json& wait = report.at("waits").at(0);
  EXPECT_EQ(wait.at("kind"), "unix-socket");
  const json& owner = wait.at("owner");
  EXPECT_EQ(owner.at("process").at("name"), "answering");
  EXPECT_EQ(owner.at("idle"), false);
  EXPECT_NE(owner.at("stack").dump().find("AnswerLate"), std::string::npos) << owner.dump(1);
  EXPECT_NE(wait.at("stack").dump().find("AskInHandler"), std::string::npos) << wait.dump(1);
}

TEST_F(WatchTest, FollowsAWaitIntoAnotherProcess) {
  const std::vector<json> reports = Reports({LAGWATCH_WATCHED_SHARED_PROGRAM, "asks"});
  ExpectOne(reports, "AskInHandler");
  ExpectPeer(reports.at(0));
}

// From within the process.
TEST_F(WatchTest, FollowsAWaitIntoAnotherProcessInAProgramThatIsRun) {
  Process program(Watched({LAGWATCH_WATCHED_SHARED_PROGRAM, "asks"}));
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  const json headers = Ask({"reports"});
  ASSERT_EQ(headers.size(), 1u);
  ExpectPeer(Ask({"report", headers.at(0).at("id")}));
  Process text({LAGWATCH_PROGRAM, "report", headers.at(0).at("id"), "--spool", spool_});
  EXPECT_EQ(text.Wait(), 0);
  EXPECT_NE(text.Output().find("for an answer (unix-socket"), std::string::npos) << text.Output();
  EXPECT_NE(text.Output().find(" s before the report"), std::string::npos) << text.Output();
}

TEST_F(WatchTest, HidesOtherProcessesOnRequest) {
  Process program(Watched({LAGWATCH_WATCHED_SHARED_PROGRAM, "asks"}, {"--hide-peers"}));
  EXPECT_EQ(program.Wait(), 0) << program.Errors();
  const json headers = Ask({"reports"});
  ASSERT_EQ(headers.size(), 1u);
  const json waits = Ask({"report", headers.at(0).at("id")}).at("waits");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits.dump().find("answering"), std::string::npos) << waits.dump(1);
  EXPECT_EQ(waits.dump().find("AnswerLate"), std::string::npos) << waits.dump(1);
  EXPECT_NE(waits.at(0).at("owner").at("process").at("pid"), 0) << waits.dump(1);
}

// The child of vfork() overwrites the place of its caller's address: the stack ends there.
TEST_F(WatchTest, ReportsAHandlerInUninterruptibleSleep) { ExpectOne(ReportsOf("vforks"), "VforkInHandler"); }

TEST_F(WatchTest, WatchesTheThreadsThatItIsAskedFor) {
  EXPECT_EQ(Reports({LAGWATCH_WATCHED_SHARED_PROGRAM, "worker"}, {"--threads", "main"}).size(), 0u);
  ExpectOne(Reports({LAGWATCH_WATCHED_SHARED_PROGRAM, "worker"}, {"--threads", "worker"}), "SleepInHandler");
}

TEST_F(WatchTest, WatchesWhatATargetBecomesByItsNewName) {
  Process program({"/bin/sh", "-c", "read go; exec sleep 5"});
  Process watcher(Watch({std::to_string(program.pid())}));
  const auto is_watched = [&](const std::string& name) {
    const std::string text = name + " (" + std::to_string(program.pid()) + ") is watched from outside";
    return WaitUntil([&] { return watcher.Errors().find(text) != std::string::npos; });
  };
  ASSERT_TRUE(is_watched("sh")) << watcher.Errors();
  usleep(500'000);  // the watcher has begun
  program.WriteInput("go\n");
  EXPECT_TRUE(is_watched("sleep")) << watcher.Errors();
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(watcher.Wait(), 0) << watcher.Errors();
}

// Of the process that watches for `watcher`, in a second.
int64_t LooksOf(const Process& watcher) {
  const std::string task =
      "/proc/" + std::to_string(watcher.pid()) + "/task/" + std::to_string(watcher.pid());
  pid_t child = 0;
  EXPECT_TRUE(WaitUntil([&] { return bool(std::ifstream(task + "/children") >> child); }));
  const auto pauses = [&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/status");
    int64_t count = 0;
    for (std::string word; status >> word;)
      if (word == "voluntary_ctxt_switches:") status >> count;
    return count;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const int64_t before = pauses();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return pauses() - before;
}

TEST_F(WatchTest, LooksAsOftenAsItIsAskedToAndItsThresholdNeeds) {
  Process program({LAGWATCH_WATCHED_PROGRAM, "calm", "10"});
  const std::string pid = std::to_string(program.pid());
  const auto looks_with = [&](const std::string& threshold_ms, const std::string& interval_ms) {
    threshold_ms_ = threshold_ms;
    Process watcher(Watch({pid, "--interval-ms", interval_ms}));
    return LooksOf(watcher);
  };
  EXPECT_LT(looks_with("5000", "500"), 5);
  EXPECT_GT(looks_with("5000", "20"), 20);
  EXPECT_GT(looks_with("100", "500"), 20);
}

TEST_F(WatchTest, WatchesNoMoreProcessesThanItMay) {
  Process first({LAGWATCH_WATCHED_PROGRAM, "calm"});
  Process second({LAGWATCH_WATCHED_PROGRAM, "calm"});
  Process watcher(
      Watch({std::to_string(first.pid()), std::to_string(second.pid()), "--most-processes", "1", "--quiet"}));
  EXPECT_EQ(watcher.Wait(), 0);
  EXPECT_EQ(watcher.Errors(), "lagwatch: more than 1 processes: see most-processes\n");
}

TEST_F(WatchTest, ReportsNoProgramThatWasStopped) {
  while_running_ = [](Process& program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    kill(program.pid(), SIGCONT);
  };
  EXPECT_EQ(ReportsOf("stopped").size(), 0u);
}

void Interrupt(Process& program) {
  kill(program.pid(), SIGSTOP);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  kill(program.pid(), SIGCONT);
}

// Its wait goes on as restart_syscall.
TEST_F(WatchTest, ReportsNoWaitThatGoesOnAfterAnInterruption) {
  while_running_ = [](Process& program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    Interrupt(program);
  };
  EXPECT_EQ(ReportsOf("interrupted").size(), 0u);
}

TEST_F(WatchTest, ReportsNoThreadThatIsParkedWhileAnotherServesItsLoop) {
  EXPECT_EQ(Reports({LAGWATCH_WATCHED_SHARED_PROGRAM, "pool"}, {"--threads", "all"}).size(), 0u);
}

// Its goroutines go on in other threads.
TEST_F(WatchTest, TakesNoThreadOfGoForALoop) {
  EXPECT_EQ(Reports({LAGWATCH_WATCHED_GO_PROGRAM, "sleeps"}, {"--threads", "all"}).size(), 0u);
}

// "docker pause" does so, in the middle of a dispatch of 1.2 s.
TEST_F(WatchTest, ReportsNoProgramThatAControlGroupHasFrozen) {
  const testing::ScopedControlGroup group("freezer", "lagwatch-test-" + std::to_string(getpid()));
  bool is_frozen = false;
  while_running_ = [&](Process& program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    is_frozen = group.Take(program.pid()) && group.SetFrozen(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    group.SetFrozen(false);
  };
  threshold_ms_ = "2000";
  const std::vector<json> reports = ReportsOf("computes");
  if (!is_frozen) GTEST_SKIP() << "no control groups can be made";
  EXPECT_EQ(reports.size(), 0u) << json(reports).dump(1);
}

// With BPF programs, in a namespace whose /sys/kernel/tracing is what a test needs.
class WatchByKernelTest : public WatchTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root may load programs into the kernel";
    MountAtTracing("tracefs");
  }
  void MountAtTracing(const std::string& file_system) {
    around_ = [=](std::vector<std::string> command) {
      const std::string script =
          "mount -t " + file_system + " none /sys/kernel/tracing 2>/dev/null; exec \"$@\"";
      command.insert(command.begin(), {"unshare", "--mount", "sh", "-c", script, "sh"});
      return command;
    };
  }
  // Five looks find the loop in its wait before the kernel is relied on.
  std::vector<json> ReportsByKernel(const std::string& scene) {
    return Reports({LAGWATCH_WATCHED_PROGRAM, scene, "2"}, {"--bpf"});
  }
  bool IsPermitted() const { return watcher_errors_.find("without --bpf") == std::string::npos; }
};

TEST_F(WatchByKernelTest, HasShortDispatchesWithTheirExactTimes) {
  threshold_ms_ = "30";
  const std::vector<json> reports = ReportsByKernel("short");
  if (!IsPermitted()) GTEST_SKIP() << watcher_errors_;
  std::vector<double> durations;
  std::istringstream lines(program_output_);
  for (std::string word; lines >> word;) {
    if (word == "short" && lines >> word) durations.push_back(std::stod(word));
  }
  ASSERT_EQ(durations.size(), 10u);
  const auto exact = std::ranges::count_if(durations, [&](double duration) {
    return std::ranges::any_of(reports, [&](const json& report) {
      return std::abs(report.at("duration_ms").get<double>() - duration) < 3 &&  // the loop's turn, too
             report.at("expensive_stack").dump().find("ComputeInHandler") != std::string::npos;
    });
  });
  // All ten on a quiet machine; a busy one has no stack of most before they are over.
  EXPECT_GE(exact, 1) << json(reports).dump(1);
}

TEST_F(WatchByKernelTest, ReportsAHandlerThatPausesWithoutACount) {
  TakeBreakpoints();
  const std::vector<json> reports = ReportsByKernel("pauses");
  if (!IsPermitted()) GTEST_SKIP() << watcher_errors_;
  EXPECT_TRUE(std::ranges::any_of(reports, [](const json& report) {
    // Of 1,600: on a busy machine the watcher comes late.
    return report.at("duration_ms").get<double>() > 1000 &&
           report.at("expensive_stack").dump().find("PauseInHandler") != std::string::npos;
  })) << json(reports).dump(1);
}

// As of a program that is run: a loop without a pause is one, and no hang.
TEST_F(WatchByKernelTest, ReportsALoopThatIsOnlyBusyAsThat) {
  for (const json& report : ReportsByKernel("saturated"))
    EXPECT_EQ(report.at("kind"), "busy-loop") << report.dump(1);
}

TEST_F(WatchByKernelTest, ReportsNoProgramThatWasStopped) {
  while_running_ = [](Process& program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3500));
    kill(program.pid(), SIGCONT);
  };
  const std::vector<json> reports = ReportsByKernel("stopped");
  EXPECT_EQ(reports.size(), 0u) << json(reports).dump(1);
}

TEST_F(WatchByKernelTest, ReportsNoWaitThatGoesOnAfterAnInterruption) {
  while_running_ = [](Process& program) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    Interrupt(program);
  };
  const std::vector<json> reports = ReportsByKernel("interrupted");
  EXPECT_EQ(reports.size(), 0u) << json(reports).dump(1);
}

TEST_F(WatchByKernelTest, SaysWhatItLacks) {
  MountAtTracing("tmpfs");
  ExpectOne(ReportsOf("sleeps", {"--bpf"}), "SleepInHandler");
  EXPECT_NE(watcher_errors_.find("loops are only looked at, without --bpf: "), std::string::npos)
      << watcher_errors_;
}

TEST_F(WatchTest, NamesTheLineOfAScript) {
  if (!AreReturnsCounted()) GTEST_SKIP() << "this machine counts no returns";
  const std::vector<json> reports = Reports({"python3", LAGWATCH_WATCHED_SCRIPT});
  ExpectOne(reports, "import_orders");
  EXPECT_EQ(reports[0].at("expensive_stack").dump().find("_PyEval"), std::string::npos);
}

TEST_F(WatchTest, LeavesAProgramThatHasAWatchdog) {
  Process program({LAGWATCH_PROGRAM, "run", "--spool", spool_, "--", "python3", LAGWATCH_WATCHED_SCRIPT});
  ASSERT_TRUE(WaitUntil([&] { return program.Output().starts_with("begun"); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  Process watcher(Watch({std::to_string(program.pid())}));
  EXPECT_EQ(watcher.Wait(), 0);
  EXPECT_NE(watcher.Errors().find("has a watchdog of its own"), std::string::npos) << watcher.Errors();
}

TEST_F(WatchTest, WaitsForAProgramOfThatName) {
  const std::string named = directory_ / "named_program";
  std::filesystem::copy_file(LAGWATCH_WATCHED_PROGRAM, named);
  Process watcher(Watch({"named_program"}));
  ASSERT_TRUE(WaitUntil([&] { return watcher.Errors().find("waiting for it") != std::string::npos; }));
  Process program({named, "sleeps", "2.5"});
  EXPECT_TRUE(WaitUntil([&] { return std::filesystem::exists(spool_) && Ask({"reports"}).size() == 1; }));
  watcher.Signal(SIGINT);
  EXPECT_EQ(watcher.Wait(), 0) << watcher.Errors();
}

TEST_F(WatchTest, RefusesWhatCannotBeWatched) {
  Process none(Watch({}));
  EXPECT_EQ(none.Wait(), 2);
  EXPECT_NE(none.Errors().find("say what to watch"), std::string::npos) << none.Errors();
  Process gone(Watch({"4194303"}));
  EXPECT_EQ(gone.Wait(), 2);
  EXPECT_NE(gone.Errors().find("no such process"), std::string::npos) << gone.Errors();
  const pid_t ended = fork();
  if (ended == 0) _exit(0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(ended), &info, WEXITED | WNOWAIT), 0);
  Process zombie(Watch({std::to_string(ended)}));
  EXPECT_EQ(zombie.Wait(), 2);
  EXPECT_NE(zombie.Errors().find("has ended"), std::string::npos) << zombie.Errors();
  EXPECT_EQ(waitpid(ended, nullptr, 0), ended);
}

TEST_F(WatchTest, SaysThatItDoesNotKnowA32BitProgram) {
#ifndef __x86_64__
  GTEST_SKIP() << "the program is for x86";
#endif
  struct {
    Elf32_Ehdr header = {};
    Elf32_Phdr segment = {};
    unsigned char code[16] = {0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7};  // pause(), again and again
  } file;
  constexpr Elf32_Addr kAddress = 0x400000;
  std::copy_n(ELFMAG, SELFMAG, file.header.e_ident);
  file.header.e_ident[EI_CLASS] = ELFCLASS32;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_EXEC;
  file.header.e_machine = EM_386;
  file.header.e_version = EV_CURRENT;
  file.header.e_entry = kAddress + offsetof(decltype(file), code);
  file.header.e_phoff = offsetof(decltype(file), segment);
  file.header.e_ehsize = sizeof file.header;
  file.header.e_phentsize = sizeof file.segment;
  file.header.e_phnum = 1;
  file.segment.p_type = PT_LOAD;
  file.segment.p_vaddr = file.segment.p_paddr = kAddress;
  file.segment.p_filesz = file.segment.p_memsz = sizeof file;
  file.segment.p_flags = PF_R | PF_X;
  file.segment.p_align = 0x1000;
  const std::string path = directory_ / "small";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&file), sizeof file);
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  Process program({path});
  usleep(100'000);
  const std::string pid = std::to_string(program.pid());
  std::error_code error;
  if (std::filesystem::read_symlink("/proc/" + pid + "/exe", error) != path)
    GTEST_SKIP() << "this kernel runs no 32-bit programs";
  Process watcher(Watch({pid}));
  EXPECT_NE(watcher.Wait(), 0);
  EXPECT_NE(watcher.Errors().find("is a 32-bit program"), std::string::npos) << watcher.Errors();
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), -SIGKILL);
}

}  // namespace
}  // namespace lagwatch::tools
