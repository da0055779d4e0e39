// SPDX-License-Identifier: Apache-2.0
// A program that confines itself or changes its namespaces, waits and works before and after, and prints the
// results of its calls.
//
//   confined HOW FREEZE_MS [CALL…]
//
// CALL: the number of a system call that the filter lets pass, too.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

// The calls of a program that waits, works and prints.
std::vector<long> allowed = {SYS_poll,       SYS_ppoll,         SYS_write, SYS_exit, SYS_exit_group,
                             SYS_munmap,     SYS_madvise,       SYS_futex, SYS_mmap, SYS_rt_sigreturn,
                             SYS_newfstatat, SYS_clock_gettime, SYS_brk,   SYS_rseq, SYS_rt_sigprocmask,
                             SYS_fstat,      SYS_mprotect};

std::vector<sock_filter> Filter(uint32_t otherwise) {
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const long number : allowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, otherwise));
  return filter;
}

long Confine(bool is_by_prctl, unsigned flags, uint32_t otherwise) {
  std::vector<sock_filter> filter = Filter(otherwise);
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (is_by_prctl) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

void Print(const char* what, long result) {
  char line[128];
  const int error = errno;
  std::snprintf(line, sizeof line, "%s: %ld%s%s\n", what, result, result < 0 ? ", error " : "",
                result < 0 ? std::to_string(error).c_str() : "");
  (void)!write(STDOUT_FILENO, line, std::strlen(line));
}

void Wait() { poll(nullptr, 0, 20); }

[[gnu::noinline]] void FreezeHere(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
  }
  asm volatile("");
}

int ChildStatus(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// Whatever a child does to itself.
int RunInChild(bool shares_memory) {
  const pid_t child = shares_memory ? vfork() : fork();
  if (child == 0) {
    const long result = Confine(false, 0, SECCOMP_RET_KILL_PROCESS);
    if (!shares_memory) {
      for (int i = 0; i < 3; ++i) Wait();
    }
    _exit(result == 0 ? 5 : 6);
  }
  return ChildStatus(child);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string how = argv[1];
  const std::chrono::milliseconds freeze(std::atoi(argv[2]));
  constexpr uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
  constexpr uint32_t kForbid = SECCOMP_RET_ERRNO | EPERM;
  for (int i = 3; i < argc; ++i) allowed.push_back(std::atol(argv[i]));
  if (how != "early") {
    Wait();
    Wait();
  }
  if (how == "early") Print("confined", Confine(false, 0, kKill));
  if (how == "prctl") Print("confined", Confine(true, 0, kKill));
  if (how == "seccomp") Print("confined", Confine(false, 0, kKill));
  if (how == "all-threads") Print("confined", Confine(false, SECCOMP_FILTER_FLAG_TSYNC, kKill));
  if (how == "forbidding") Print("confined", Confine(false, SECCOMP_FILTER_FLAG_TSYNC, kForbid));
  if (how == "by-a-thread") {
    std::thread thread([&] {
      Wait();
      Print("confined", Confine(false, 0, kKill));
      for (int i = 0; i < 3; ++i) Wait();
    });
    thread.join();
  }
  if (how == "strict") {
    Print("confined", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    Print("working", 0);
    syscall(SYS_exit, 3);
  }
  if (how == "asking") {
    Print("no program", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr));
    Print("no program", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, nullptr));
    Print("privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  }
  if (how == "refused") {
    sock_fprog program{0, nullptr};
    sock_filter nothing{};
    program.filter = &nothing;
    Print("empty program", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
  }
  if (how == "fork") Print("child", RunInChild(false));
  if (how == "vfork") Print("child", RunInChild(true));
  if (how == "unshare") Print("unshared", unshare(CLONE_NEWUSER));
  if (how == "unshare-by-number") Print("unshared", syscall(SYS_unshare, CLONE_NEWUSER));
  if (how == "unshare-wrongly") Print("unshared", unshare(CLONE_NEWUSER | 1));
  Wait();
  FreezeHere(freeze);
  Wait();
  Print("working", 0);
  return 3;
}
