// SPDX-License-Identifier: Apache-2.0
// Source: the frame of signal handlers in the kernel (arch/x86/kernel/signal_64.c, fpu/signal.c,
// asm/sigframe.h).
#include <cpuid.h>
#include <sys/syscall.h>
#include <sys/ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>

#include "tools/inject/process_memory.h"
#include "tools/inject/return_frame.h"

namespace lagwatch::tools {
namespace {

// The begin of a signal frame; glibc's own type has more.
struct SignalContext {
  unsigned long flags;
  void* link;
  stack_t stack;
  mcontext_t machine;
  uint64_t signal_mask;
};
constexpr size_t kContextBytes = sizeof(SignalContext);

constexpr unsigned long kHasVectors = 1;           // UC_FP_XSTATE
constexpr unsigned long kHasStackSegment = 2 | 4;  // UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr uint64_t kInstructionBytes = 2;          // of a system call
constexpr int64_t kRestartByBlock = 516;           // ERESTART_RESTARTBLOCK

// The part of the vectors that programs leave to the kernel.
constexpr size_t kFormOffset = 464;
constexpr size_t kHeaderOffset = 512;  // of the header; its first word: the components that are in use
struct VectorForm {
  uint32_t magic;
  uint32_t extended_bytes;
  uint64_t components;
  uint32_t bytes;
  uint32_t unused[7];
};
constexpr uint32_t kVectorMagic = 0x46505853;
constexpr uint32_t kVectorEndMagic = 0x46505845;
// Large ones that a process has only if it has asked for them (AMX).
constexpr uint64_t kOptionalComponents = uint64_t{3} << 17;

constexpr uint32_t kMostComponents = 63;

// The end of each component. Each question to the processor leaves a virtual machine.
std::array<uint32_t, kMostComponents> FindComponentEnds() {
  constexpr uint32_t kStateLeaf = 0xd;
  std::array<uint32_t, kMostComponents> ends{};
  for (uint32_t i = 2; i < kMostComponents; ++i) {
    uint32_t size = 0;
    uint32_t offset = 0;
    uint32_t flags = 0;
    uint32_t unused = 0;
    if (__get_cpuid_count(kStateLeaf, i, &size, &offset, &flags, &unused) != 0) ends[i] = offset + size;
  }
  return ends;
}

const std::array<uint32_t, kMostComponents>& ComponentEnds() {
  static const std::array<uint32_t, kMostComponents> ends = FindComponentEnds();
  return ends;
}

// Up to the end of the last of these components.
uint32_t VectorBytesOf(uint64_t components) {
  uint32_t end = kHeaderOffset + 64;
  for (uint32_t i = 2; i < kMostComponents; ++i)
    if ((components >> i & 1) != 0) end = std::max(end, ComponentEnds()[i]);
  return end;
}

uint64_t WordAt(const std::vector<char>& bytes, size_t offset) {
  uint64_t word = 0;
  std::memcpy(&word, &bytes[offset], sizeof word);
  return word;
}

// Goes by the kernel's own numbers for calls that it makes again, which it would only do on its own way back.
bool IsInterrupted(const ThreadRegisters& registers) {
  return static_cast<int64_t>(registers.orig_rax) >= 0 && IsRestart(-static_cast<int64_t>(registers.rax));
}

// The kernel has written the rest to where the caller wants it.
void SleepForTheRest(const ThreadRegisters& registers, greg_t* general) {
  if (-static_cast<int64_t>(registers.rax) != kRestartByBlock) return;
  if (registers.orig_rax == SYS_nanosleep && registers.rsi != 0) general[REG_RDI] = general[REG_RSI];
  if (registers.orig_rax == SYS_clock_nanosleep && registers.r10 != 0) general[REG_RDX] = general[REG_R10];
}

bool HasShadowStacks(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("x86_Thread_features:") && line.find("shstk") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

uint64_t FindSignalReturn(pid_t pid, const LoadedLibrary& libc) {
  if (HasShadowStacks(pid)) return 0;
  ComponentEnds();  // now, not while a thread is stopped
  constexpr uint64_t kMostBytes = 64 << 20;
  for (const CodeRange& range : libc.code()) {
    if (range.end - range.begin > kMostBytes) continue;
    std::string code(range.end - range.begin, '\0');
    if (ReadMemory(pid, range.begin, code.data(), code.size()) != code.size()) continue;
    if (const size_t at = code.find(kSignalReturnCode); at != std::string::npos) return range.begin + at;
  }
  return 0;
}

std::optional<ReturnFrame> MakeReturnFrame(const ThreadState& state, uint64_t stack_pointer,
                                           uint64_t signal_return) {
  const ThreadRegisters& registers = state.registers;
  const std::vector<char>& vectors = state.vectors;
  // The kernel keeps what it goes on with; a return from a signal handler makes that invalid.
  if (registers.orig_rax == SYS_restart_syscall && IsInterrupted(registers)) return std::nullopt;
  if (vectors.size() < kHeaderOffset + 64) return std::nullopt;
  const uint64_t components = WordAt(vectors, kFormOffset) & ~kOptionalComponents;
  const uint32_t vector_bytes = VectorBytesOf(components);
  if (vector_bytes > vectors.size()) return std::nullopt;

  const uint64_t vectors_at = (stack_pointer - vector_bytes - sizeof kVectorEndMagic) & ~uint64_t{63};
  const uint64_t context_at = (vectors_at - kContextBytes) & ~uint64_t{15};
  ReturnFrame frame{
      .address = context_at - sizeof signal_return,
      .bytes = std::string(
          vectors_at + vector_bytes + sizeof kVectorEndMagic - context_at + sizeof signal_return, '\0')};
  const auto put = [&frame](uint64_t address, const void* bytes, size_t size) {
    std::memcpy(&frame.bytes[address - frame.address], bytes, size);
  };
  put(frame.address, &signal_return, sizeof signal_return);

  SignalContext context{};
  context.flags = kHasVectors | kHasStackSegment;
  // The kernel leaves the stack of signal handlers as it is if it cannot set this one.
  context.stack.ss_flags = 0x10;
  context.signal_mask = state.signal_mask;
  greg_t* general = context.machine.gregs;
  const std::pair<int, unsigned long long> values[] = {
      {REG_R8, registers.r8},   {REG_R9, registers.r9},   {REG_R10, registers.r10},
      {REG_R11, registers.r11}, {REG_R12, registers.r12}, {REG_R13, registers.r13},
      {REG_R14, registers.r14}, {REG_R15, registers.r15}, {REG_RDI, registers.rdi},
      {REG_RSI, registers.rsi}, {REG_RBP, registers.rbp}, {REG_RBX, registers.rbx},
      {REG_RDX, registers.rdx}, {REG_RAX, registers.rax}, {REG_RCX, registers.rcx},
      {REG_RSP, registers.rsp}, {REG_RIP, registers.rip}, {REG_EFL, registers.eflags}};
  for (const auto& [place, value] : values) general[place] = static_cast<greg_t>(value);
  general[REG_CSGSFS] = static_cast<greg_t>((registers.cs & 0xffff) | (registers.gs & 0xffff) << 16 |
                                            (registers.fs & 0xffff) << 32 | (registers.ss & 0xffff) << 48);
  if (IsInterrupted(registers)) {
    general[REG_RAX] = static_cast<greg_t>(registers.orig_rax);
    general[REG_RIP] -= kInstructionBytes;
    SleepForTheRest(registers, general);
  }
  context.machine.fpregs = reinterpret_cast<fpregset_t>(vectors_at);
  put(context_at, &context, sizeof context);

  put(vectors_at, vectors.data(), vector_bytes);
  const VectorForm form{.magic = kVectorMagic,
                        .extended_bytes = vector_bytes + static_cast<uint32_t>(sizeof kVectorEndMagic),
                        .components = components,
                        .bytes = vector_bytes,
                        .unused = {}};
  put(vectors_at + kFormOffset, &form, sizeof form);
  const uint64_t in_use = WordAt(vectors, kHeaderOffset) & components;
  put(vectors_at + kHeaderOffset, &in_use, sizeof in_use);
  put(vectors_at + vector_bytes, &kVectorEndMagic, sizeof kVectorEndMagic);
  return frame;
}

}  // namespace lagwatch::tools
