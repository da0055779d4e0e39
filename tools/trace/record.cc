// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tools/read/table.h"
#include "tools/trace/data/subject.h"
#include "tools/trace/trace_commands.h"

namespace lagwatch::tools {
namespace {

constexpr int kCannot = 2;
constexpr int64_t kBeginTimeoutNs = 10 * base::kNsPerSecond;

int RefuseToRecord(const std::string& message) {
  std::cerr << "lagwatch: trace record: " << Printable(message) << "\n";
  return kCannot;
}

// Has `handle` act on signals, until it goes.
class ScopedHandler {
 public:
  ScopedHandler(std::initializer_list<int> signals, void (*handle)(int, siginfo_t*, void*)) {
    struct sigaction action {};
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (int number : signals) {
      struct sigaction before {};
      sigaction(number, nullptr, &before);
      if (number == SIGHUP && before.sa_handler == SIG_IGN) continue;  // nohup
      sigaction(number, &action, nullptr);
      before_.push_back({number, before});
    }
  }
  ~ScopedHandler() { Restore(); }
  ScopedHandler(const ScopedHandler&) = delete;
  ScopedHandler& operator=(const ScopedHandler&) = delete;
  void Restore() const {
    for (const Before& each : before_) sigaction(each.number, &each.action, nullptr);
  }

 private:
  struct Before {
    int number;
    struct sigaction action;
  };
  std::vector<Before> before_;
};

// Handlers for `record -- PROGRAM`: signals are passed on to the program, and the recording goes on until the
// program has ended. Signals of the terminal reach it without us.
std::atomic<pid_t> g_program{0};
std::atomic<int> g_early_signal{0};
void PassOn(int number, siginfo_t* info, void*) {
  const int error = errno;
  if (info->si_code == SI_KERNEL) return;
  if (const pid_t program = g_program.load(); program == 0) {
    g_early_signal.store(number);
  } else {
    kill(program, number);
  }
  errno = error;
}

// Handlers for `record --pid PID`: the first signal ends the recording, which is still written; a second one
// ends this program at once.
std::atomic<bool> g_is_interrupted{false};
void NoteInterrupt(int number, siginfo_t*, void*) {
  if (g_is_interrupted.exchange(true)) {
    signal(number, SIG_DFL);
    raise(number);
  }
}

}  // namespace

int RecordProgram(const RecordOptions& options) {
  auto recording = Recording::Create(options);
  if (!recording.ok()) return RefuseToRecord(recording.status().message());
  const ScopedHandler handler({SIGINT, SIGQUIT, SIGTERM, SIGHUP}, PassOn);
  auto program = Subject::Start(options, **recording, [&] { handler.Restore(); });
  if (!program.ok()) {
    RefuseToRecord(program.status().message());
    return ExitCodeOfRefusal(program.status());
  }
  g_program.store((*program)->pid());
  if (const int early = g_early_signal.exchange(0); early != 0) (*program)->Signal(early);
  (*recording)->Await([&] { return (*program)->HasEnded(); });
  if ((*program)->HasEnded()) {
    g_program.store(0);
  } else {
    (*recording)->Stop();
  }
  base::Status written(base::StatusCode::kUnavailable,
                       "nothing was recorded: the program did not load the library, or could not start its "
                       "threads");
  if ((*recording)->has_begun()) written = (*recording)->Write((*program)->name());
  if (!written.ok()) RefuseToRecord(written.message());
  const int code = (*program)->ExitCode();
  return written.ok() ? code : kCannot;
}

int RecordProcess(const RecordOptions& options) {
  auto recording = Recording::Create(options);
  if (!recording.ok()) return RefuseToRecord(recording.status().message());
  const ScopedHandler handler({SIGINT, SIGQUIT, SIGTERM, SIGHUP}, NoteInterrupt);
  auto process = Subject::Attach(options, **recording);
  if (!process.ok()) return RefuseToRecord(process.status().message());
  const int64_t begin_ns = base::SystemClock().MonoNs();
  (*recording)->Await([&] {
    const bool is_refused =
        !(*recording)->has_begun() && base::SystemClock().MonoNs() - begin_ns > kBeginTimeoutNs;
    return is_refused || g_is_interrupted.load() || (*process)->HasEnded();
  });
  (*recording)->Stop();
  if (!(*recording)->has_begun())
    return RefuseToRecord("nothing was recorded: the process could not start the recorder");
  base::Status written = (*recording)->Write((*process)->name());
  return written.ok() ? 0 : RefuseToRecord(written.message());
}

}  // namespace lagwatch::tools
