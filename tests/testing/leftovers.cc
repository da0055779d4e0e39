// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/leftovers.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kTemporaryName[] = "TMPDIR";
constexpr std::string_view kMarkPrefix = "lw-left-";
// A busy machine may not let a helper run for a while; one that never ends is still found.
constexpr std::chrono::seconds kPatience{15};

// Not by a stream: a machine may have thousands of processes.
std::string ContentOf(const std::string& file) {
  std::string content;
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  char piece[4096];
  for (ssize_t got; fd >= 0 && (got = read(fd, piece, sizeof piece)) > 0;)
    content.append(piece, static_cast<size_t>(got));
  if (fd >= 0) close(fd);
  return content;
}

struct ProcessStat {
  char state = ' ';  // when it is gone
  int parent = 0;
  unsigned long long start_ticks = 0;
};

ProcessStat StatOf(const std::string& process) {
  ProcessStat found;
  const std::string stat = ContentOf(process + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return found;
  // The fields after the name; the process's start is the 22nd of all.
  std::sscanf(stat.c_str() + name_end + 1,
              " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &found.state,
              &found.parent, &found.start_ticks);
  return found;
}

// The bytes that the kernel drew when the process's program was started: those of a child that was forked
// from it, and of the child's children, are the same as long as they start no other program.
std::string RandomOf(const std::string& process) {
  const std::string vector = ContentOf(process + "/auxv");
  char bytes[16];
  for (size_t at = 0; at + sizeof(ElfW(auxv_t)) <= vector.size(); at += sizeof(ElfW(auxv_t))) {
    ElfW(auxv_t) entry;
    std::memcpy(&entry, vector.data() + at, sizeof entry);
    if (entry.a_type != AT_RANDOM) continue;
    const int fd = open((process + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, static_cast<off_t>(entry.a_un.a_val));
    if (fd >= 0) close(fd);
    if (got == sizeof bytes) return {bytes, sizeof bytes};
  }
  return {};
}

bool HasVariable(const std::string& environment, const std::string& variable) {
  const std::string wanted = '\0' + variable + '\0';
  return ('\0' + environment).find(wanted) != std::string::npos;
}

}  // namespace

ProcessList FindDescendants(const std::string& mark) {
  ProcessList found;
  const unsigned long long own_start_ticks = StatOf("/proc/self").start_ticks;
  const std::string own_random = RandomOf("/proc/self");
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string process = entry.path();
    const std::string name = entry.path().filename();
    int pid = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (problem != std::errc() || end != name.data() + name.size() || pid == getpid()) continue;
    const ProcessStat stat = StatOf(process);
    if (std::string_view(" ZX").find(stat.state) != std::string_view::npos) continue;
    if (stat.start_ticks < own_start_ticks) continue;
    const bool is_own = stat.parent == getpid() || HasVariable(ContentOf(process + "/environ"), mark) ||
                        (!own_random.empty() && RandomOf(process) == own_random);
    if (!is_own) continue;
    std::string command = ContentOf(process + "/cmdline");
    std::ranges::replace(command, '\0', ' ');
    found.emplace(pid, command);
  }
  return found;
}

bool ScopedProgramMark::HasStartedPrograms() {
  rusage use{};
  getrusage(RUSAGE_CHILDREN, &use);  // of those that were waited for
  const long work = use.ru_minflt + use.ru_nvcsw + use.ru_nivcsw;
  siginfo_t info{};
  const bool has_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  return std::exchange(children_work_, work) != work || has_children;
}

ScopedProgramMark::ScopedProgramMark() {
  parent_ = fs::temp_directory_path();
  directory_ = parent_ + "/" + std::string(kMarkPrefix).append("XXXXXX");
  if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
  chmod(directory_.c_str(), 01777);  // programs may run as another user
  setenv(kTemporaryName, directory_.c_str(), 1);
}

ScopedProgramMark::~ScopedProgramMark() {
  if (getpid() != owner_) return;  // a forked child that ends by exit()
  setenv(kTemporaryName, parent_.c_str(), 1);
  std::error_code error;
  fs::remove_all(directory_, error);
}

void ScopedProgramMark::Begin() {
  files_ = FilesNow();
  if (HasStartedPrograms()) processes_ = FindDescendants(std::string(kTemporaryName) + "=" + directory_);
}

std::vector<std::string> ScopedProgramMark::FilesNow() const {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kTestDirectoryPrefix)) files.push_back(name);
  }
  std::ranges::sort(files);
  return files;
}

std::vector<std::string> ScopedProgramMark::TakeLeftovers(std::chrono::milliseconds patience) {
  constexpr std::chrono::milliseconds kPause{20};
  const std::string mark = std::string(kTemporaryName) + "=" + directory_;
  ProcessList left;
  for (auto waited = kPause * 0; HasStartedPrograms() || waited != kPause * 0; waited += kPause) {
    left = FindDescendants(mark);
    std::erase_if(left, [&](const auto& process) { return processes_.contains(process.first); });
    if (left.empty() || waited >= patience) break;
    std::this_thread::sleep_for(kPause);
  }
  std::vector<std::string> lines;
  for (const auto& [pid, command] : left) {
    lines.push_back("process " + std::to_string(pid) + " still runs: " + command);
    kill(pid, SIGKILL);
  }
  std::vector<std::string> new_files;
  std::ranges::set_difference(FilesNow(), files_, std::back_inserter(new_files));
  for (const std::string& name : new_files) {
    lines.push_back("a temporary file is left: " + name);
    std::error_code error;
    fs::remove_all(directory_ + "/" + name, error);
  }
  return lines;
}

namespace {

class LeftoverListener : public ::testing::EmptyTestEventListener {
 public:
  // The child of a death test that runs the program again has its parent's directory.
  void OnTestProgramStart(const ::testing::UnitTest&) override {
    const char* inherited = std::getenv(kTemporaryName);
    const bool has_mark =
        inherited != nullptr && std::string_view(inherited).find(kMarkPrefix) != std::string_view::npos;
    if (!has_mark) mark_ = std::make_unique<ScopedProgramMark>();
  }
  void OnTestStart(const ::testing::TestInfo&) override {
    if (mark_ != nullptr) mark_->Begin();
  }
  void OnTestEnd(const ::testing::TestInfo&) override {
    if (mark_ == nullptr) return;
    for (const std::string& line : mark_->TakeLeftovers(kPatience)) ADD_FAILURE() << line;
  }
  void OnTestProgramEnd(const ::testing::UnitTest&) override { mark_.reset(); }

 private:
  std::unique_ptr<ScopedProgramMark> mark_;
};

// GoogleTest owns it.
[[maybe_unused]] const bool kIsListening = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new LeftoverListener);
  return true;
}();

}  // namespace
}  // namespace lagwatch::testing
