// SPDX-License-Identifier: Apache-2.0
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>

#include "base/clock.h"
#include "base/process/proc_file.h"
#include "base/system/system_calls.h"
#include "stack/threads/processor_clocks.h"
#include "tools/inject/wait_time.h"

namespace lagwatch::tools {
namespace {

std::string TaskFile(pid_t pid, pid_t tid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/" + name;
}

int64_t RunsOf(pid_t pid, pid_t tid) {
  char text[128];
  long long runs = -1;
  const std::string line(base::ReadSmallFile(TaskFile(pid, tid, "schedstat").c_str(), text, sizeof text));
  return std::sscanf(line.c_str(), "%*d %*d %lld", &runs) == 1 ? runs : -1;
}

// Leaves the rest of a positive number of milliseconds, of which the last one is whole.
void ShortenMilliseconds(int64_t lasted_ns, unsigned long long* argument) {
  const auto whole = static_cast<int32_t>(*argument);
  if (whole > 0) *argument = static_cast<uint64_t>(std::max<int64_t>(whole - lasted_ns / base::kNsPerMs, 0));
}

}  // namespace

WaitTime::WaitTime(pid_t pid, pid_t tid) : pid_(pid), tid_(tid), runs_(RunsOf(pid, tid)) {
  lasted_ns_ = stack::ProcessorClocks().AsleepNs({base::Process::Other(pid), tid});
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
