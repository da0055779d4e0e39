// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "tools/inject/wait_time.h"

namespace lagwatch::tools {
namespace {

std::string TaskFile(pid_t pid, pid_t tid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

// The time when the thread last began or ceased to run, by the clock of its processor.
std::optional<int64_t> LastRunNs(const std::string& sched_file) {
  constexpr std::string_view kName = "se.exec_start";
  std::ifstream file(sched_file);
  for (std::string line; std::getline(file, line);) {
    long milliseconds = 0;
    long nanoseconds = 0;
    const size_t colon = line.find(':');
    if (!line.starts_with(kName) || colon == std::string::npos) continue;
    if (std::sscanf(line.c_str() + colon + 1, "%ld.%6ld", &milliseconds, &nanoseconds) != 2) break;
    return milliseconds * base::kNsPerMs + nanoseconds;
  }
  return std::nullopt;
}

int64_t RunsOf(pid_t pid, pid_t tid) {
  char text[128];
  long long runs = -1;
  const std::string line(base::ReadSmallFile(TaskFile(pid, tid, "schedstat").c_str(), text, sizeof text));
  return std::sscanf(line.c_str(), "%*d %*d %lld", &runs) == 1 ? runs : -1;
}

// The processor on which it ran; -1 if that is not known.
int ProcessorOf(pid_t pid, pid_t tid) {
  constexpr int kFieldsAfterName = 36;
  std::ifstream file(TaskFile(pid, tid, "stat"));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return -1;
  const char* at = text.c_str() + name_end + 1;
  for (int i = 0; i < kFieldsAfterName && at != nullptr; ++i) at = std::strchr(at + 1, ' ');
  int processor = -1;
  return at != nullptr && std::sscanf(at, "%d", &processor) == 1 ? processor : -1;
}

// The calling thread's last run, which is now, on this processor.
std::optional<int64_t> NowOn(int processor) {
  cpu_set_t before;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  if (sched_getaffinity(0, sizeof before, &before) != 0 || sched_setaffinity(0, sizeof only, &only) != 0)
    return std::nullopt;
  sched_yield();  // the kernel notes the time
  const auto now_ns = LastRunNs("/proc/thread-self/sched");
  sched_setaffinity(0, sizeof before, &before);
  return now_ns;
}

// Leaves the rest of a positive number of milliseconds, of which the last one is whole.
void ShortenMilliseconds(int64_t lasted_ns, unsigned long long* argument) {
  const auto whole = static_cast<int32_t>(*argument);
  if (whole > 0) *argument = static_cast<uint64_t>(std::max<int64_t>(whole - lasted_ns / base::kNsPerMs, 0));
}

}  // namespace

WaitTime::WaitTime(pid_t pid, pid_t tid) : pid_(pid), tid_(tid), runs_(RunsOf(pid, tid)) {
  const int processor = ProcessorOf(pid, tid);
  if (processor < 0 || processor >= CPU_SETSIZE) return;
  const auto now_ns = NowOn(processor);
  const auto last_ns = LastRunNs(TaskFile(pid, tid, "sched"));
  if (now_ns && last_ns && *now_ns >= *last_ns) lasted_ns_ = *now_ns - *last_ns;
  looked_ns_ = base::SystemClock().MonoNs();
}

std::optional<int64_t> WaitTime::LastedNs(int64_t end_ns) const {
  if (!lasted_ns_ || runs_ < 0 || RunsOf(pid_, tid_) != runs_ + 1) return std::nullopt;
  return *lasted_ns_ + std::max<int64_t>(end_ns - looked_ns_, 0);
}

#ifdef __x86_64__
void ShortenWait(const AddressSpace& space, long syscall_number, int64_t lasted_ns, uint64_t scratch,
                 ThreadRegisters* registers) {
  const base::TimeLimit limit = base::SystemCallOf(syscall_number).limit;
  unsigned long long* const arguments[] = {&registers->rdi, &registers->rsi, &registers->rdx,
                                           &registers->r10, &registers->r8,  &registers->r9};
  if (limit.form == base::TimeLimit::Form::kMilliseconds)
    return ShortenMilliseconds(lasted_ns, arguments[limit.argument]);
  const bool is_relative = syscall_number == SYS_clock_nanosleep && registers->rsi == 0;
  timespec time{};
  // The kernel has written the rest to where the caller wants it, if it does.
  if (!is_relative || registers->r10 != 0 || space.Read(registers->rdx, &time, sizeof time) != sizeof time)
    return;
  const int64_t left_ns = std::max<int64_t>(time.tv_sec * base::kNsPerSecond + time.tv_nsec - lasted_ns, 0);
  time = {.tv_sec = left_ns / base::kNsPerSecond, .tv_nsec = left_ns % base::kNsPerSecond};
  if (space.Write(scratch, &time, sizeof time)) registers->rdx = scratch;
}
#else
// The kernel goes on with such waits itself, by what PTRACE_SETREGSET gives back.
void ShortenWait(const AddressSpace&, long, int64_t, uint64_t, ThreadRegisters*) {}
#endif

}  // namespace lagwatch::tools
