// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/process/core_image.h"
#include "base/process/process.h"
#include "base/process/safe_memory.h"
#include "base/system/seccomp.h"

namespace lagwatch::base {
namespace {

// Set if a sandbox forbids process_vm_readv(2), or an emulator does not support it.
std::atomic<bool> g_is_call_forbidden{false};

size_t ReadMemoryFile(const char* path, uint64_t address, char* destination, size_t size_bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t done = 0;
  while (done < size_bytes) {
    ssize_t got = pread(fd, destination + done, size_bytes - done, static_cast<off_t>(address + done));
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  close(fd);
  return done;
}

}  // namespace

// With a way to change the mask that does not exist, the call fails in any case: by EFAULT when it cannot
// read the set.
bool IsReadable(uint64_t address) {
  constexpr int kNoWay = -1;
  constexpr uint64_t kSetBytes = 8;
  const uint64_t set = address & ~(kSetBytes - 1);
  return set != 0 && (syscall(SYS_rt_sigprocmask, kNoWay, set, nullptr, kSetBytes) == 0 || errno != EFAULT);
}

namespace {

// `pid` may be any thread's of the process. Without `file`, where the call is forbidden nothing is read.
size_t ReadMemoryOf(pid_t pid, const char* file, uint64_t address, void* destination, size_t size_bytes) {
  constexpr uint64_t kPageSize = 4096;
  // A read that spans pages is all or nothing for each remote segment, so every page is one of its own.
  constexpr int kMaxPages = 64;
  auto* out = static_cast<char*>(destination);
  const auto read_file = [&] { return file == nullptr ? 0 : ReadMemoryFile(file, address, out, size_bytes); };
  if (g_is_call_forbidden.load(std::memory_order_relaxed)) return read_file();
  size_t done = 0;
  while (done < size_bytes) {
    iovec local{out + done, size_bytes - done};
    iovec remote[kMaxPages];
    int pages = 0;
    uint64_t at = address + done;
    size_t asked = 0;
    while (pages < kMaxPages && done + asked < size_bytes) {
      size_t piece = std::min<size_t>(kPageSize - (at & (kPageSize - 1)), size_bytes - done - asked);
      remote[pages++] = {reinterpret_cast<void*>(at), piece};
      at += piece;
      asked += piece;
    }
    // As a system call: bionic's function is of Android 6.
    const long got =
        syscall(SYS_process_vm_readv, pid, &local, 1UL, remote, static_cast<unsigned long>(pages), 0UL);
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
      g_is_call_forbidden.store(true, std::memory_order_relaxed);
      return read_file();
    }
    if (got <= 0) break;
    done += static_cast<size_t>(got);
    if (static_cast<size_t>(got) < asked) break;
  }
  return done;
}

}  // namespace

size_t ReadOwnMemory(uint64_t address, void* destination, size_t size_bytes) {
  // The calling thread's id, because the process's names no memory once the main thread has ended.
  return ReadMemoryOf(gettid(), "/proc/thread-self/mem", address, destination, size_bytes);
}

size_t ReadOwnMemoryByCall(uint64_t address, void* destination, size_t size_bytes) {
  if (IsConfined()) return 0;
  return ReadMemoryOf(gettid(), nullptr, address, destination, size_bytes);
}

size_t Process::Read(uint64_t address, void* destination, size_t size_bytes) const {
  if (is_own()) return ReadOwnMemory(address, destination, size_bytes);
  if (is_core()) return core()->Read(address, destination, size_bytes);
  return ReadMemoryOf(other_pid_, ProcessPath(*this, "mem").c_str(), address, destination, size_bytes);
}

}  // namespace lagwatch::base
