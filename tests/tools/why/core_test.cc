// SPDX-License-Identifier: Apache-2.0
// `lagwatch why --core`, of real core files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using testing::Process;
using testing::ScopedTempDirectory;
using testing::WaitUntil;
using json = nlohmann::json;

struct CoreAnswer {
  int exit_code;
  json content;
  std::string errors;

  std::string sentence() const { return content.value("sentence", ""); }
  bool Says(const std::string& words) const { return sentence().find(words) != std::string::npos; }
};

CoreAnswer AskCore(const std::string& core, const std::vector<std::string>& more = {}) {
  std::vector<std::string> command = {LAGWATCH_PROGRAM, "why", "--json", "--core", core};
  command.insert(command.end(), more.begin(), more.end());
  Process why(command);
  const int exit_code = why.Wait();
  return {exit_code, json::parse(why.Output(), nullptr, /*allow_exceptions=*/false), why.Errors()};
}

// Runs a program in `directory`, with small stacks so that cores are small, and permits cores.
std::vector<std::string> CommandIn(const std::string& directory, const std::string& program) {
  return {"/bin/sh", "-c", "ulimit -s 256; ulimit -c unlimited; cd " + directory + "; exec " + program};
}

bool HasBegun(const Process& process) {
  return WaitUntil([&] { return process.Output().starts_with("begun"); });
}

// A core that gcore has made of a program, which is gone.
class Snapshot {
 public:
  explicit Snapshot(const std::string& program)
      : process_(CommandIn(directory_.path(), program), {"MALLOC_ARENA_MAX=1"}), pid_(process_.pid()) {
    EXPECT_TRUE(HasBegun(process_));
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    Process gcore({"gcore", "-o", directory_ / "core", std::to_string(pid_)});
    EXPECT_EQ(gcore.Wait(), 0) << gcore.Errors();
    process_.Signal(SIGKILL);
    EXPECT_EQ(process_.Wait(), -SIGKILL);
  }

  std::string pid() const { return std::to_string(pid_); }
  std::string path() const { return directory_ / ("core." + pid()); }
  const ScopedTempDirectory& directory() const { return directory_; }

 private:
  ScopedTempDirectory directory_;
  Process process_;
  pid_t pid_;
};

Snapshot SnapshotOf(const std::string& state) {
  return Snapshot(std::string(LAGWATCH_FROZEN_PROGRAM) + " " + state);
}

// The core that the kernel has written into `directory`; empty where it has not.
std::string CoreIn(const ScopedTempDirectory& directory) {
  for (const std::string& name : directory.Files()) {
    if (name.starts_with("core")) return directory / name;
  }
  return "";
}

std::string Line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

bool IsCoreAFile() {
  const std::string pattern = Line("/proc/sys/kernel/core_pattern");
  return pattern.starts_with("core");
}

// A core knows no times, and nothing of this machine.
void ExpectNothingThatACoreCannotKnow(const CoreAnswer& answer) {
  const std::regex duration(R"(\d+(\.\d+)? ?m?s\b)");
  EXPECT_FALSE(std::regex_search(answer.sentence(), duration)) << answer.sentence();
  const json& report = answer.content.at("report");
  EXPECT_EQ(report.at("facts"), json({{"evidence", "core"}}));
  EXPECT_EQ(report.at("verdict").at("wall_ms"), 0);
  EXPECT_EQ(report.at("kind"), "dump");
}

// A core has no names of threads.
TEST(WhyCoreTest, NamesNoNameOfAThreadThatMayGiveASignal) {
  const Snapshot core = SnapshotOf("signal");
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_THAT(answer.exit_code, ::testing::AnyOf(0, 1)) << answer.errors;
  EXPECT_TRUE(answer.Says("in AwaitWork")) << answer.sentence();
  EXPECT_FALSE(answer.Says("()")) << answer.sentence();
  Process text({LAGWATCH_PROGRAM, "why", "--core", core.path()});
  EXPECT_EQ(text.Wait(), answer.exit_code) << text.Errors();
  EXPECT_TRUE(text.Output().find("AwaitWork") != std::string::npos) << text.Output();
}

TEST(WhyCoreTest, NamesTheThreadThatHoldsALock) {
  const Snapshot core = SnapshotOf("lock");
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_EQ(answer.exit_code, 1) << answer.errors;
  EXPECT_EQ(answer.content.at("standing"), "frozen");
  EXPECT_TRUE(answer.Says("the main thread (" + core.pid() + ") waits in TakeLock")) << answer.sentence();
  EXPECT_TRUE(
      std::regex_search(answer.sentence(), std::regex(R"(a mutex that thread \d+ holds in KeepLock)")))
      << answer.sentence();
  EXPECT_EQ(answer.content.at("report").at("verdict").at("word"), "lock");
  ExpectNothingThatACoreCannotKnow(answer);
}

TEST(WhyCoreTest, NamesADeadlock) {
  const Snapshot core = SnapshotOf("deadlock");
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_EQ(answer.exit_code, 1) << answer.errors;
  EXPECT_TRUE(answer.Says("holds in TakeSecondFirst, which waits for a mutex that the main thread"))
      << answer.sentence();
  EXPECT_TRUE(answer.Says("a deadlock, which never ends by itself")) << answer.sentence();
  ExpectNothingThatACoreCannotKnow(answer);
}

TEST(WhyCoreTest, DoesNotCallAComputationAFreeze) {
  const Snapshot core = SnapshotOf("compute");
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_EQ(answer.exit_code, 0) << answer.errors;
  EXPECT_TRUE(answer.Says("computes in Compute, called by main")) << answer.sentence();
  EXPECT_EQ(answer.content.at("report").at("verdict").at("word"), "cpu");
  ExpectNothingThatACoreCannotKnow(answer);
}

TEST(WhyCoreTest, FoldsIdleThreads) {
  const Snapshot core = SnapshotOf("workers");
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_EQ(answer.exit_code, 0) << answer.sentence() << answer.errors;
  EXPECT_TRUE(answer.Says("waits for events in AwaitEvents")) << answer.sentence();
  const json& groups = answer.content.at("groups");
  ASSERT_EQ(groups.size(), 1u) << groups.dump(1);
  EXPECT_EQ(groups[0].at("threads").size(), 40u);
  EXPECT_TRUE(groups[0].at("idle").get<bool>());
  ExpectNothingThatACoreCannotKnow(answer);
  Process text({LAGWATCH_PROGRAM, "why", "--core", core.path()});
  EXPECT_EQ(text.Wait(), 0);
  EXPECT_TRUE(text.Output().starts_with("frozen_program (core of pid " + core.pid() + ") shows no freeze: "))
      << text.Output();
  EXPECT_NE(text.Output().find("\n  40 × waiting for other threads: "), std::string::npos) << text.Output();
}

TEST(WhyCoreTest, NamesTheChildWaitOnlyByItsCall) {
  const Snapshot core = SnapshotOf("child");
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_EQ(answer.exit_code, 1) << answer.errors;
  EXPECT_TRUE(answer.Says("waits in AwaitChild, called by main for a child, or another process"))
      << answer.sentence();
  ExpectNothingThatACoreCannotKnow(answer);
}

TEST(WhyCoreTest, SaysFirstByWhichSignalItEnded) {
  if (!IsCoreAFile()) GTEST_SKIP() << "the kernel does not write core files here";
  for (
      const auto& [state, words] : std::map<std::string, std::string>{
          {"crash",
           R"(^was ended by SIGSEGV \(an access to address 0x10, where there is no memory\), which thread \d+ got in WriteNowhere)"},
          {"abort",
           R"(^was ended by SIGABRT, which the main thread \(\d+\) got in GiveUp, called by main$)"}}) {
    const ScopedTempDirectory directory;
    Process process(CommandIn(directory.path(), std::string(LAGWATCH_FROZEN_PROGRAM) + " " + state));
    EXPECT_LT(process.Wait(), 0);
    const std::string core = CoreIn(directory);
    ASSERT_NE(core, "");
    const CoreAnswer answer = AskCore(core);
    EXPECT_EQ(answer.exit_code, 1) << answer.errors;
    EXPECT_EQ(answer.content.at("standing"), "ended");
    EXPECT_TRUE(std::regex_search(answer.sentence(), std::regex(words))) << answer.sentence();
    ExpectNothingThatACoreCannotKnow(answer);
  }
}

// As systemd does with a service whose watchdog has no sign of life.
TEST(WhyCoreTest, ExplainsAFreezeThatAnotherProcessHasEnded) {
  if (!IsCoreAFile()) GTEST_SKIP() << "the kernel does not write core files here";
  const ScopedTempDirectory directory;
  Process process(CommandIn(directory.path(), std::string(LAGWATCH_FROZEN_PROGRAM) + " deadlock"));
  ASSERT_TRUE(HasBegun(process));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  process.Signal(SIGABRT);
  EXPECT_EQ(process.Wait(), -SIGABRT);
  const std::string core = CoreIn(directory);
  ASSERT_NE(core, "");
  const CoreAnswer answer = AskCore(core);
  EXPECT_EQ(answer.exit_code, 1) << answer.errors;
  EXPECT_TRUE(
      answer.Says("a deadlock, which never ends by itself; it was ended by SIGABRT, sent by process " +
                  std::to_string(getpid())))
      << answer.sentence();
  ExpectNothingThatACoreCannotKnow(answer);
}

TEST(WhyCoreTest, NamesFunctionsOfScripts) {
  const ScopedTempDirectory scripts;
  std::ofstream(scripts / "ledger.py") << "import threading, time\n"
                                          "lock = threading.Lock()\n"
                                          "def hold_the_lock():\n"
                                          "    with lock: time.sleep(1000)\n"
                                          "def read_ledger():\n"
                                          "    with lock: pass\n"
                                          "threading.Thread(target=hold_the_lock, daemon=True).start()\n"
                                          "time.sleep(0.2)\n"
                                          "print('begun', flush=True)\n"
                                          "read_ledger()\n";
  const Snapshot core("/usr/bin/python3 " + (scripts / "ledger.py"));
  const CoreAnswer answer = AskCore(core.path());
  EXPECT_EQ(answer.exit_code, 1) << answer.errors;
  EXPECT_TRUE(answer.Says("in read_ledger")) << answer.sentence();
  EXPECT_NE(answer.content.at("groups").dump().find("hold_the_lock"), std::string::npos);
  ExpectNothingThatACoreCannotKnow(answer);
}

// The functions of the test's program in each thread's stack, the innermost first.
using Stacks = std::map<int64_t, std::vector<std::string>>;

bool IsOfProgram(const std::string& function) {
  static const std::regex names(
      "main|TakeBoth|TakeSecondFirst|TakeLock|Keep|KeepLock|AwaitWork|AwaitEvents|AwaitEventsWithWorkers|"
      "Compute");
  return std::regex_match(function, names);
}

Stacks StacksOfGdb(const std::string& core) {
  Process gdb({"gdb", "-nx", "-batch", "-ex", "thread apply all bt", LAGWATCH_FROZEN_PROGRAM, core});
  EXPECT_EQ(gdb.Wait(), 0) << gdb.Errors();
  Stacks stacks;
  int64_t tid = 0;
  const std::regex thread(R"(^Thread \d+ \((?:Thread 0x[0-9a-f]+ \()?LWP (\d+)\)+:)");
  const std::regex frame(R"(^#\d+ +(?:0x[0-9a-f]+ in )?(\w+) )");
  std::istringstream lines(gdb.Output());
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_search(line, match, thread)) tid = std::stoll(match[1]);
    if (std::regex_search(line, match, frame) && tid != 0 && IsOfProgram(match[1]))
      stacks[tid].push_back(match[1]);
  }
  return stacks;
}

Stacks StacksOfAnswer(const CoreAnswer& answer) {
  Stacks stacks;
  for (const json& thread : answer.content.at("report").at("threads")) {
    for (const json& frame : thread.at("stack")) {
      const std::string function = frame.at("function");
      if (IsOfProgram(function)) stacks[thread.at("tid")].push_back(function);
    }
  }
  return stacks;
}

TEST(WhyCoreTest, HasTheStacksThatGdbHas) {
  for (const char* state : {"lock", "deadlock", "compute", "workers"}) {
    const Snapshot core = SnapshotOf(state);
    const Stacks gdbs = StacksOfGdb(core.path());
    EXPECT_FALSE(gdbs.empty());
    EXPECT_EQ(StacksOfAnswer(AskCore(core.path())), gdbs) << state;
  }
}

TEST(WhyCoreTest, UsesNoProgramOfAnotherBuild) {
  const ScopedTempDirectory directory;
  const std::string program = directory / "moved_program";
  fs::copy_file(LAGWATCH_FROZEN_PROGRAM, program);
  const Snapshot core(program + " compute");
  fs::rename(program, directory / "elsewhere");
  const CoreAnswer without = AskCore(core.path());
  EXPECT_FALSE(without.Says("Compute")) << without.sentence();
  EXPECT_NE(without.content.at("core").at("unused").dump().find(program + " is not on this machine"),
            std::string::npos)
      << without.content.at("core").dump();
  const CoreAnswer with = AskCore(core.path(), {directory / "elsewhere"});
  EXPECT_TRUE(with.Says("computes in Compute")) << with.sentence();
  fs::copy_file("/bin/sh", program);
  const CoreAnswer replaced = AskCore(core.path());
  EXPECT_FALSE(replaced.Says("Compute")) << replaced.sentence();
  EXPECT_NE(replaced.content.at("core").at("unused").dump().find(program + " is another build"),
            std::string::npos);
  const CoreAnswer wrong = AskCore(core.path(), {"/bin/sh"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.errors.find("/bin/sh is another build than the one that was loaded"), std::string::npos)
      << wrong.errors;
}

TEST(WhyCoreTest, KeepsAReportIfItIsAsked) {
  const ScopedTempDirectory directory;
  const std::string spool = directory / "spool";
  const Snapshot core = SnapshotOf("lock");
  EXPECT_EQ(AskCore(core.path(), {"--save", "--spool", spool}).exit_code, 1);
  Process reports({LAGWATCH_PROGRAM, "reports", "--json", "--spool", spool});
  EXPECT_EQ(reports.Wait(), 0) << reports.Errors();
  const json headers = json::parse(reports.Output());
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].at("app"), "frozen_program");
  EXPECT_EQ(headers[0].at("kind"), "dump");
}

void ExpectRefusal(const std::string& file, const std::string& words) {
  const CoreAnswer answer = AskCore(file);
  EXPECT_EQ(answer.exit_code, 2) << words;
  EXPECT_NE(answer.errors.find(words), std::string::npos) << answer.errors;
}

TEST(WhyCoreTest, SaysWhyAFileIsNoCore) {
  const ScopedTempDirectory directory;
  ExpectRefusal(directory / "absent", "cannot open " + (directory / "absent"));
  ExpectRefusal(directory.path(), "it is no regular file");
  ExpectRefusal(LAGWATCH_FROZEN_PROGRAM, "is a program or a library, no core file");
  std::ofstream(directory / "text") << "a text\n";
  ExpectRefusal(directory / "text", "it is no ELF file");
  std::ofstream(directory / "empty");
  ExpectRefusal(directory / "empty", "it is no ELF file");
  for (const char* program : {"zstd", "lz4", "xz", "gzip"}) {
    const std::string packed = directory / program;
    Process compress({"/bin/sh", "-c",
                      std::string("command -v ") + program + " >/dev/null || exit 127; " + program + " -c " +
                          (directory / "text") + " > " + packed});
    if (compress.Wait() == 127) continue;
    ExpectRefusal(packed, std::string("is compressed by ") + program + ": run `" + program + " -d");
  }
}

TEST(WhyCoreTest, SaysWhatIsWrongWithACore) {
  const Snapshot core = SnapshotOf("compute");
  const auto changed = [&](const std::string& name, std::streamoff place, char byte) {
    const std::string path = core.directory() / name;
    fs::copy_file(core.path(), path);
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(place).put(byte);
    return path;
  };
  ExpectRefusal(changed("of-32-bits", /*e_ident[EI_CLASS]*/ 4, 1), "is of a 32-bit program");
  ExpectRefusal(changed("of-arm", /*e_machine*/ 18, static_cast<char>(183)), "is of another architecture");
  const std::string cut = core.directory() / "cut";
  fs::copy_file(core.path(), cut);
  for (const uintmax_t size :
       {fs::file_size(cut) * 3 / 4, fs::file_size(cut) / 2, uintmax_t{200}, uintmax_t{20}}) {
    fs::resize_file(cut, size);
    ExpectRefusal(cut, "is truncated: it has " + std::to_string(size) + " of ");
  }
}

// Whatever a file says, nothing worse than an answer or a refusal comes of it.
TEST(WhyCoreTest, SurvivesDamage) {
  const Snapshot core = SnapshotOf("deadlock");
  const std::string damaged = core.directory() / "damaged";
  std::mt19937 random(1);
  int answers = 0;
  for (int i = 0; i < 32; ++i) {
    fs::copy_file(core.path(), damaged, fs::copy_options::overwrite_existing);
    std::fstream file(damaged, std::ios::in | std::ios::out | std::ios::binary);
    const size_t size = fs::file_size(damaged);
    constexpr size_t kHeaderBytes = 1300;
    constexpr size_t kNoteBytes = 40000;  // they are the last
    const bool is_in_headers = i % 4 == 0;
    for (int byte = 0; byte < (is_in_headers ? 1 : 60); ++byte) {
      file.seekp(static_cast<std::streamoff>(is_in_headers ? 64 + random() % kHeaderBytes
                                                           : size - kNoteBytes + random() % kNoteBytes));
      file.put(static_cast<char>(random()));
    }
    file.close();
    const int exit_code = AskCore(damaged).exit_code;
    EXPECT_TRUE(0 <= exit_code && exit_code <= 2) << exit_code;
    answers += exit_code != 2;
  }
  EXPECT_GT(answers, 4);
}

TEST(WhyCoreTest, RefusesOptionsOfRunningProcesses) {
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{"--top"}, {"--for", "2"}, {"--timeout", "5s"}}) {
    const CoreAnswer answer = AskCore("core", options);
    EXPECT_EQ(answer.exit_code, 2);
    EXPECT_NE(answer.errors.find(options.front() + " is for processes that run; a core file is one moment"),
              std::string::npos)
        << answer.errors;
  }
  EXPECT_EQ(AskCore("core", {"/bin/sh", "/bin/ls"}).exit_code, 2);
}

}  // namespace
}  // namespace lagwatch::tools
