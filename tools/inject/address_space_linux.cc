// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "tools/inject/address_space.h"
#include "tools/inject/process_memory.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

// 0 if the process has ended.
uint64_t MarkAddressOf(pid_t pid) {
  std::ifstream file(ProcessFolder(pid) / "auxv", std::ios::binary);
  Elf64_auxv_t entry{};
  while (file.read(reinterpret_cast<char*>(&entry), sizeof entry)) {
    if (entry.a_type == AT_RANDOM) return entry.a_un.a_val;
  }
  return 0;
}

}  // namespace

// An exec between the two look-ups makes an address that is not the memory's: IsOf() sees that.
base::Result<AddressSpace> AddressSpace::Open(pid_t pid) {
  AddressSpace space;
  space.pid_ = pid;
  space.memory_ = base::OwnedFd(open((ProcessFolder(pid) / "mem").c_str(), O_RDWR | O_CLOEXEC));
  if (!space.memory_ && errno == ENOENT)
    return base::Status(base::StatusCode::kNotFound, "no such process: " + std::to_string(pid));
  if (!space.memory_) {
    return base::Status(base::StatusCode::kUnauthorized,
                        "the system denies access to the memory of process " + std::to_string(pid) +
                            ": it belongs to another user, or kernel.yama.ptrace_scope forbids it; try sudo");
  }
  space.mark_address_ = MarkAddressOf(pid);
  return space;
}

size_t AddressSpace::Read(uint64_t address, void* bytes, size_t size) const {
  size_t done = 0;
  while (done < size) {
    const ssize_t read = pread(memory_.get(), static_cast<char*>(bytes) + done, size - done,
                               static_cast<off_t>(address + done));
    if (read <= 0) break;
    done += static_cast<size_t>(read);
  }
  return done;
}

bool AddressSpace::Write(uint64_t address, const void* bytes, size_t size) const {
  const ssize_t written = pwrite(memory_.get(), bytes, size, static_cast<off_t>(address));
  if (written >= 0 && static_cast<size_t>(written) != size) errno = EFAULT;
  return written == static_cast<ssize_t>(size);
}

bool AddressSpace::IsOf(pid_t tid) const {
  Mark expected;
  Mark mark;
  return Read(mark_address_, &expected, sizeof expected) == sizeof expected &&
         ReadMemory(tid, mark_address_, &mark, sizeof mark) == sizeof mark && mark == expected;
}

bool AddressSpace::IsCurrent() const {
  Mark expected;
  Mark mark;
  const auto now = Open(pid_);
  return now.ok() && now->mark_address_ == mark_address_ &&
         Read(mark_address_, &expected, sizeof expected) == sizeof expected &&
         now->Read(mark_address_, &mark, sizeof mark) == sizeof mark && mark == expected;
}

}  // namespace lagwatch::tools
