// SPDX-License-Identifier: Apache-2.0
#include "bench/interpreters/other_process.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>

namespace lagwatch::interpreters_bench {
namespace {

std::vector<stack::MemoryRegion> WritableMemory(pid_t pid) {
  std::vector<stack::MemoryRegion> regions;
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t dash = line.find('-');
    const size_t space = line.find(' ');
    if (line.compare(space + 1, 2, "rw") != 0 || line[space + 4] != 'p') continue;
    regions.push_back({std::stoull(line, nullptr, 16), std::stoull(line.substr(dash + 1), nullptr, 16)});
  }
  return regions;
}

}  // namespace

bool OtherMemory::ReadBytes(uint64_t address, void* destination, size_t size_bytes) {
  iovec local{destination, size_bytes};
  iovec remote{reinterpret_cast<void*>(address), size_bytes};
  return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size_bytes);
}

bool FindModule(pid_t pid, stack::Memory* memory, const VisitModule& visit) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string last;
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == line.npos || line.substr(slash) == last) continue;
    last = line.substr(slash);
    const uint64_t base = std::stoull(line, nullptr, 16);
    uint16_t type = 0;
    constexpr uint64_t kTypeOffset = 16;
    constexpr uint16_t kFixed = 2;
    if (!memory->Read(base + kTypeOffset, &type)) continue;
    if (visit(last, stack::ExportedSymbols(memory, base, type == kFixed ? 0 : base))) return true;
  }
  return false;
}

void ThreadCapture::Take() {
  // The heap grows, mostly at first.
  if (count_ < 1000 || count_ % 1000 == 0) regions_ = WritableMemory(pid_);
  ++count_;
  is_taken_ = CopyThread();
}

bool ThreadCapture::CopyThread() {
  ptrace(PTRACE_SEIZE, tid_, 0, 0);  // fails from the second time on
  int status = 0;
  if (ptrace(PTRACE_INTERRUPT, tid_, 0, 0) != 0 || waitpid(tid_, &status, __WALL) != tid_ ||
      !WIFSTOPPED(status))
    return false;
  user_regs_struct all{};
  ptrace(PTRACE_GETREGS, tid_, 0, &all);
  // In DWARF's order.
  const uint64_t values[] = {all.rax, all.rdx, all.rcx, all.rbx, all.rsi, all.rdi, all.rbp, all.rsp, all.r8,
                             all.r9,  all.r10, all.r11, all.r12, all.r13, all.r14, all.r15, all.rip};
  std::ranges::copy(values, raw_->registers.value);
  raw_->registers.known_mask = stack::Registers::kAllKnown;
  raw_->address = all.rsp;
  const stack::MemoryRegion* region = stack::FindRegion(all.rsp, regions_.data(), regions_.size());
  raw_->end = region == nullptr ? all.rsp : region->end;
  raw_->size_bytes = std::min<uint64_t>(raw_->end - raw_->address, stack::kMaxRawStackBytes);
  const bool is_read = memory_.Read(raw_->address, raw_->bytes, raw_->size_bytes);
  if (tid_ == pid_) return ptrace(PTRACE_CONT, tid_, 0, 0) == 0 && is_read;
  const bool is_signal = status >> 16 == 0;
  return ptrace(PTRACE_DETACH, tid_, 0, is_signal ? WSTOPSIG(status) : 0) == 0 && is_read;
}

std::string TextOfFrame(uint64_t function, uint32_t line, const stack::ScriptFunctions& functions) {
  const stack::ScriptFunction found = functions.Find(function);
  return std::string(found.name) + " (" + std::string(found.file) + "):" + std::to_string(line);
}

std::string TextOf(const stack::ScriptFrames& frames, const stack::ScriptFunctions& functions) {
  std::string text;
  for (size_t i = 0; i < frames.count; ++i)
    text += (i == 0 ? "" : "|") + TextOfFrame(frames.frames[i].function, frames.frames[i].line, functions);
  return text;
}

}  // namespace lagwatch::interpreters_bench
