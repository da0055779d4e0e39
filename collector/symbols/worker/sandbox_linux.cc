// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <cerrno>
#include <cstddef>
#include <vector>

#include "collector/symbols/worker/symbol_worker.h"

// This program's own header, which the linker names.
extern "C" const Elf64_Ehdr __ehdr_start;

namespace lagwatch::collector {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

constexpr rlim_t kMaxDataBytes = rlim_t{2} << 30;
constexpr rlim_t kMaxAddressBytes = rlim_t{32} << 30;  // mapped files, too

// Reading, mapping, memory, answering, and ending; fstat() is newfstatat().
constexpr int kAllowedCalls[] = {
    SYS_read,
    SYS_pread64,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_write,
    SYS_ppoll,
#ifdef SYS_poll
    SYS_poll,
#endif

    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_lseek,
    SYS_fcntl,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_setitimer,
    SYS_clock_gettime,
    SYS_getrandom,
    SYS_sysinfo,
    SYS_getpid,
    SYS_gettid,
    SYS_tgkill,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_restart_syscall,
    SYS_exit,
    SYS_exit_group,
};

// Paths of files that are open, and of others that are named in them.
constexpr int kReadOnlyCalls[] = {
#ifdef SYS_readlink
    SYS_readlink,
#endif
    SYS_readlinkat,
};

bool Limit(__rlimit_resource resource, rlim_t most) {
  const rlimit limit{.rlim_cur = most, .rlim_max = most};
  return setrlimit(resource, &limit) == 0;
}

sock_filter Load(size_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
sock_filter Return(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
// Goes on with the next instruction, or skips it.
sock_filter SkipUnlessEqual(uint32_t value) { return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1); }
sock_filter SkipIfEqual(uint32_t value) { return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0); }

void Allow(int call, std::vector<sock_filter>* program) {
  program->push_back(SkipUnlessEqual(static_cast<uint32_t>(call)));
  program->push_back(Return(SECCOMP_RET_ALLOW));
}

// openat(), if its flags neither write nor create.
void AllowToOpenForReading(std::vector<sock_filter>* program) {
  constexpr uint32_t kFlags = O_ACCMODE | O_CREAT | O_TRUNC;
  constexpr size_t kLowHalfOfFlags =
      offsetof(seccomp_data, args[2]);  // this filter is of little-endian machines
  program->push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4));
  program->push_back(Load(kLowHalfOfFlags));
  program->push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kFlags, 0, 1));
  program->push_back(Return(SECCOMP_RET_ERRNO | EPERM));
  program->push_back(Return(SECCOMP_RET_ALLOW));
}

// Other calls fail with EPERM; those of another processor's numbering end the process.
bool FilterCalls(FileAccess access) {
  const uint32_t own_numbering = __ehdr_start.e_machine | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE;
  std::vector<sock_filter> program = {Load(offsetof(seccomp_data, arch)), SkipIfEqual(own_numbering),
                                      Return(SECCOMP_RET_KILL_PROCESS), Load(offsetof(seccomp_data, nr))};
  for (int call : kAllowedCalls) Allow(call, &program);
  if (access == FileAccess::kReadOnly) {
    for (int call : kReadOnlyCalls) Allow(call, &program);
    AllowToOpenForReading(&program);
  }
  program.push_back(Return(SECCOMP_RET_ERRNO | EPERM));
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace

bool EnterSandbox(unsigned max_files, FileAccess access) {
  bool is_limited = Limit(RLIMIT_NOFILE, max_files) && Limit(RLIMIT_FSIZE, 0) && Limit(RLIMIT_CORE, 0) &&
                    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  if (kIsSanitized || !is_limited) return is_limited;
  return Limit(RLIMIT_DATA, kMaxDataBytes) && Limit(RLIMIT_AS, kMaxAddressBytes) && Limit(RLIMIT_NPROC, 0) &&
         FilterCalls(access);
}

void SetTimeLimit(std::chrono::seconds time) {
  const itimerval timer{.it_interval = {}, .it_value = {.tv_sec = time.count(), .tv_usec = 0}};
  setitimer(ITIMER_REAL, &timer, nullptr);  // SIGALRM ends the process
}

}  // namespace lagwatch::collector
