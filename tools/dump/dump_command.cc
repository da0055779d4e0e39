// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "base/text.h"
#include "sdk/moment/process_moment.h"
#include "sdk/run/default_paths.h"
#include "sdk/run/run_record.h"
#include "tools/commands.h"
#include "tools/process_files.h"
#include "tools/read/output.h"
#include "tools/run/preload.h"
#include "tools/watch/targets.h"
#include "tools/why/kept_report.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

struct DumpOptions {
  pid_t pid = 0;
  std::string signal;  // deprecated: no signal is sent
  std::string spool = sdk::DefaultSpoolDirectory();
};

// The page of the process's run record, which its watchdog listens to.
class RunPageMapping {
 public:
  explicit RunPageMapping(const fs::path& file) {
    const int fd = open(file.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat status {};
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size == sdk::RunPage::kBytes) {
      void* page = mmap(nullptr, sdk::RunPage::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      if (page != MAP_FAILED) page_ = static_cast<char*>(page);
    }
    error_ = errno;
    if (fd >= 0) close(fd);
  }
  ~RunPageMapping() {
    if (page_ != nullptr) munmap(page_, sdk::RunPage::kBytes);
  }
  RunPageMapping(const RunPageMapping&) = delete;
  RunPageMapping& operator=(const RunPageMapping&) = delete;

  bool is_mapped() const { return page_ != nullptr; }
  int error() const { return error_; }
  std::atomic_ref<uint32_t> dumps_asked() const { return Word(offsetof(sdk::RunCalls, dumps_asked)); }
  std::atomic_ref<uint32_t> dumps_taken() const { return Word(offsetof(sdk::RunCalls, dumps_taken)); }
  bool is_heard() const { return Word(offsetof(sdk::RunCalls, is_heard)).load() != 0; }
  void WakeWatchdog() const {
    syscall(SYS_futex, page_ + sdk::RunPage::kCallsAt, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

 private:
  std::atomic_ref<uint32_t> Word(size_t offset) const {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(page_ + sdk::RunPage::kCallsAt + offset));
  }
  static_assert(offsetof(sdk::RunCalls, dumps_asked) == 0, "the word that the watchdog waits for");

  char* page_ = nullptr;
  int error_ = 0;
};

// The run record that the process has mapped; empty when it has none.
fs::path RunRecordOf(const fs::path& process) {
  const std::string directory = std::string("/") + sdk::kRunDirectoryName + "/";
  std::ifstream maps(process / "maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path == std::string::npos || line.find(" rw-s ") == std::string::npos) continue;
    if (!line.ends_with(sdk::kRunSuffix) || line.find(directory) == std::string::npos) continue;
    // As the process sees the file system.
    const fs::path seen = process / "root" / line.substr(path + 1);
    std::error_code error;
    return fs::exists(seen, error) ? seen : fs::path(line.substr(path));
  }
  return {};
}

// Whether `lagwatch run` has started the process, or is about to: then it is still lagwatch's own, has the
// library in its environment, or, from the loader's work on, in its memory.
bool IsToBeWatched(pid_t pid) {
  std::error_code error;
  if (fs::equivalent(ProcessFolder(pid) / "exe", "/proc/self/exe", error) && !error) return true;
  if (VariableOf(pid, "LD_PRELOAD").find(kPreloadLibraryName) != std::string::npos) return true;
  std::ifstream maps(ProcessFolder(pid) / "maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(kPreloadLibraryName) != std::string::npos) return true;
  return false;
}

// Waits until a program that is being started has its watchdog. False if it gets none.
bool AwaitWatchdog(pid_t pid) {
  constexpr auto kStartTakes = std::chrono::seconds(3);
  const auto end = std::chrono::steady_clock::now() + kStartTakes;
  while (!HasWatchdog(pid)) {
    if (!IsToBeWatched(pid) || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

// Of a process that is not watched: looks at it from outside.
int DumpFromOutside(const DumpOptions& options) {
  if (base::Status status = CheckTarget(options.pid); !status.ok()) return Fail(status.message());
  const auto moment = sdk::LookAtProcess(base::Process::Other(options.pid), {.app = CommandOf(options.pid)});
  if (!moment.ok()) return Fail("process " + std::to_string(options.pid) + ": " + moment.status().message());
  if (base::Status status = SaveReport(*moment, options.spool); !status.ok()) return Fail(status.message());
  std::cout << "report " << base::ToString(moment->report_id) << " of process " << options.pid << " is in "
            << options.spool << "\n";
  return 0;
}

int Dump(const DumpOptions& options) {
  constexpr auto kPatience = std::chrono::seconds(6);  // the watchdog of an older kernel looks each 5 s
  const std::string pid = std::to_string(options.pid);
  const fs::path process = ProcessFolder(options.pid);
  if (!fs::exists(process)) return Fail("no such process: " + pid);
  if (!AwaitWatchdog(options.pid)) return DumpFromOutside(options);
  const fs::path record = RunRecordOf(process);
  if (record.empty()) {
    return Fail("process " + pid +
                " has no run record that this user can access, which is needed to request a dump");
  }
  const RunPageMapping page(record);
  if (!page.is_mapped()) return Fail("cannot open " + record.string() + ": " + std::strerror(page.error()));
  if (!page.is_heard())
    return Fail("process " + pid + " runs an older lagwatch: send it the signal of its option dump_signal");
  const uint32_t asked = page.dumps_asked().fetch_add(1) + 1;
  page.WakeWatchdog();
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (static_cast<int32_t>(page.dumps_taken().load() - asked) < 0) {
    if (std::chrono::steady_clock::now() > end) {
      return Fail("process " + pid +
                  " has not accepted the request yet; it makes the dump when its watchdog runs again");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::cout << "asked process " << pid << " for a dump, one in 10 s is made; `lagwatch reports` lists it\n";
  return 0;
}

}  // namespace

void AddDumpCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<DumpOptions>();
  CLI::App* dump = app->add_subcommand("dump", "Report all threads of a program now");
  dump->footer(
      "A watched program is asked to make the report, through the page that it keeps of its run in the "
      "spool\n"
      "directory. Another one is looked at from outside, as by `lagwatch why --save`. No signal is sent.\n\n"
      "  lagwatch run -- redis-server\n"
      "  lagwatch dump $(pidof redis-server)\n"
      "  lagwatch reports");
  dump->add_option("PID", options->pid, "The process")
      ->required()
      ->check(CLI::Range(1, INT_MAX, "a process id"));
  dump->add_option("--signal", options->signal, "Deprecated, without effect: no signal is sent")
      ->check([](const std::string& text) {
        return SignalNumber(text) != 0 ? "" : "'" + text + "' is not a signal";
      });
  dump->add_option("--spool", options->spool,
                   "The spool directory for the report of a program that is not watched")
      ->capture_default_str();
  dump->callback([options, exit_code] { *exit_code = Dump(*options); });
}

}  // namespace lagwatch::tools
