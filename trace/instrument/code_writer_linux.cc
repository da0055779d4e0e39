// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "base/process/own_memory.h"
#include "trace/instrument/code_writer.h"

namespace lagwatch::trace {

namespace {

// In memory that children find zeroed, which is an unlocked mutex: a thread of the parent may have it.
pthread_mutex_t* OneWriter() {
  static pthread_mutex_t copied = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<pthread_mutex_t*> lock{nullptr};
  if (pthread_mutex_t* known = lock.load()) return known;
  auto* made = static_cast<pthread_mutex_t*>(base::TakeWiped(sizeof copied));
  if (made == nullptr) made = &copied;  // before Linux 4.14
  pthread_mutex_t* first = nullptr;
  return lock.compare_exchange_strong(first, made) ? made : first;
}

constinit thread_local int t_memory_fd = -1;

int OpenMemory() { return open("/proc/thread-self/mem", O_RDWR | O_CLOEXEC); }

}  // namespace

ScopedCodeMemory::ScopedCodeMemory() { t_memory_fd = OpenMemory(); }

ScopedCodeMemory::~ScopedCodeMemory() {
  if (t_memory_fd >= 0) close(std::exchange(t_memory_fd, -1));
}

CodeWriter::CodeWriter() {
  pthread_mutex_lock(OneWriter());
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) != 0) return;
  memory_fd_ = t_memory_fd >= 0 ? t_memory_fd : OpenMemory();
}

CodeWriter::~CodeWriter() {
  if (memory_fd_ >= 0 && memory_fd_ != t_memory_fd) close(memory_fd_);
  pthread_mutex_unlock(OneWriter());
}

bool CodeWriter::Write(uint64_t address, const unsigned char* bytes, size_t size_bytes) const {
  for (size_t i = 0; i < size_bytes; ++i)
    if (pwrite(memory_fd_, bytes + i, 1, static_cast<off_t>(address + i)) != 1) return false;
  return true;
}

bool CodeWriter::SynchronizeProcessors() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0;
}

bool CodeWriter::Map(uint64_t address, uint64_t size_bytes) {
  void* wanted = reinterpret_cast<void*>(address);
  void* memory = mmap(wanted, size_bytes, PROT_READ | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (memory == wanted) return true;
  if (memory != MAP_FAILED) munmap(memory, size_bytes);  // Linux before 4.17 takes the address for a hint
  return false;
}

void CodeWriter::Unmap(uint64_t address, uint64_t size_bytes) {
  munmap(reinterpret_cast<void*>(address), size_bytes);
}

}  // namespace lagwatch::trace
