// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tools/inject/call_safety.h"
#include "tools/inject/process_memory.h"
#include "tools/process_files.h"

namespace lagwatch::tools {
namespace {

// Functions that hold locks of the C library while they call others.
constexpr const char* kUnsafe[] = {"fork",
                                   "vfork",
                                   "posix_spawn",
                                   "posix_spawnp",
                                   "dl_iterate_phdr",
                                   "dlopen",
                                   "dlmopen",
                                   "dlclose",
                                   "dlsym",
                                   "dlvsym",
                                   "dlinfo",
                                   "dladdr",
                                   "dladdr1",
                                   "__cxa_finalize",
                                   "pthread_create",
                                   "exit",
                                   "abort",
                                   "pthread_exit",
                                   "pthread_getattr_np"};
constexpr const char* kAllocator[] = {"malloc", "calloc", "realloc",        "free",        "memalign",
                                      "valloc", "_Znwm",  "posix_memalign", "_ZdlPv",      "_ZdlPvm",
                                      "_Znam",  "_ZdaPv", "aligned_alloc",  "reallocarray"};
// Return addresses in the loader that the call of a constructor has at least.
constexpr int kLoaderFramesOfAnOpening = 4;
constexpr uint64_t kStackWords = 16 * 1024 / sizeof(uint64_t);
constexpr size_t kInnermostWords =
    256;  // hold the frames of the allocator, which calls nothing outside of it
constexpr uint64_t kCallRoomBytes = 64 * 1024;

// The code that a signal handler returns to: a call of rt_sigreturn.
bool IsSignalReturn(pid_t pid, uint64_t address) {
  std::string code(kSignalReturnCode.size(), '\0');
  return ReadMemory(pid, address, code.data(), code.size()) == code.size() && code == kSignalReturnCode;
}

// Whether the kernel's frame of a signal handler begins at `words[at]`, and was not overwritten since.
bool IsSignalFrame(const std::vector<uint64_t>& words, size_t at) {
#if defined(__x86_64__)
  constexpr size_t kFlags = 1;
  constexpr size_t kLink = 2;
  constexpr size_t kSegments = 24;
  constexpr uint64_t kMostFlags = 15;
  constexpr uint16_t kUserCode = 0x33;
  return at + kSegments < words.size() && words[at + kFlags] <= kMostFlags && words[at + kLink] == 0 &&
         static_cast<uint16_t>(words[at + kSegments]) == kUserCode;
#else
  return at < words.size();
#endif
}

bool IsInOneOf(const std::vector<CodeRange>& ranges, uint64_t address) {
  return std::ranges::any_of(ranges, [&](const CodeRange& range) { return range.Holds(address); });
}

}  // namespace

base::Result<CallSafety> CallSafety::Create(pid_t pid) {
  CallSafety safety;
  safety.pid_ = pid;
  safety.libc_ = LAGWATCH_TRY(LoadedLibrary::Find(pid, "libc.so.6"));
  safety.loader_ = LAGWATCH_TRY(LoadedLibrary::Find(pid, "ld-linux"));
  for (const char* name : kUnsafe) {
    const CodeRange range = safety.libc_.RangeOf(name);
    if (range.begin != 0) safety.unsafe_.push_back(range);
  }
  for (const char* name : kAllocator) safety.allocator_.push_back(safety.libc_.RangeOf(name));
  // An allocator in front of the C library's takes locks in functions of any name.
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(ProcessFolder(pid) / "exe", error).filename();
  for (const std::string& name :
       {program, std::string("libjemalloc"), std::string("libtcmalloc"), std::string("libmimalloc")}) {
    const auto library = LoadedLibrary::Find(pid, name);
    if (!library.ok() || library->AddressOf("malloc") == 0) continue;
    safety.has_own_allocator_ = true;
    for (const char* function : kAllocator) safety.allocator_.push_back(library->RangeOf(function));
  }
  return safety;
}

CallSafety::StackMapping CallSafety::FindMapping(uint64_t address) const {
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  uint64_t guard_end = 0;
  for (std::string line; std::getline(maps, line);) {
    uint64_t begin = 0;
    uint64_t end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, access) != 3) continue;
    if (begin <= address && address < end)
      return {{begin, end}, begin == guard_end || line.ends_with("[stack]")};
    if (access[0] == '-') guard_end = end;
  }
  return {};
}

void CallSafety::NoteStack(uint64_t stack_pointer) { noted_stack_ = FindMapping(stack_pointer); }

CallSafety::StackMapping CallSafety::MappingOf(uint64_t stack_pointer) const {
  return noted_stack_.range.Holds(stack_pointer) ? noted_stack_ : FindMapping(stack_pointer);
}

// Follows a call instruction.
bool CallSafety::IsReturnAddress(uint64_t address) const {
#if defined(__x86_64__)
  constexpr size_t kLongestCall = 7;
  unsigned char before[kLongestCall];
  if (ReadMemory(pid_, address - kLongestCall, before, sizeof before) != sizeof before) return false;
  constexpr unsigned char kNearCall = 0xE8;
  constexpr unsigned char kIndirectCall = 0xFF;
  if (before[kLongestCall - 5] == kNearCall) return true;
  for (const size_t length : {2, 3, 4, 6, 7}) {
    const unsigned char operand = before[kLongestCall - length + 1];
    if (before[kLongestCall - length] == kIndirectCall && (operand & 0x38) == 0x10) return true;
  }
  return false;
#else
  return address % sizeof(uint32_t) == 0;
#endif
}

bool CallSafety::IsSafe(const ThreadRegisters& registers, StoppedIn place) const {
  const uint64_t at = ProgramCounterOf(registers);
  if (IsInLoader(at)) return false;
  // The C library's own code may be about to take or release a lock at any instruction.
  if (place == StoppedIn::kRunning && (libc_.HoldsCode(at) || has_own_allocator_)) return false;
  const uint64_t top = StackPointerOf(registers);
  const StackMapping stack = MappingOf(top);
  std::vector<uint64_t> words(std::min<uint64_t>(kStackWords, (stack.range.end - top) / sizeof(uint64_t)));
  words.resize(ReadMemory(pid_, top, words.data(), words.size() * sizeof(uint64_t)) / sizeof(uint64_t));
  if (words.empty()) return false;
  int loader_frames = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t word = words[i];
    if (libc_.HoldsCode(word) && IsSignalReturn(pid_, word) && IsSignalFrame(words, i)) return false;
    // A constructor that waits keeps the loader's lock, which its own thread may take again.
    if (place == StoppedIn::kWait) continue;
    if (IsInLoader(word) && IsReturnAddress(word)) {
      if (++loader_frames >= kLoaderFramesOfAnOpening) return false;
      if (place == StoppedIn::kFutex && i < kInnermostWords) return false;
    }
    if (IsInOneOf(unsafe_, word) && IsReturnAddress(word)) return false;
    if (place == StoppedIn::kFutex && i < kInnermostWords && IsInOneOf(allocator_, word) &&
        IsReturnAddress(word))
      return false;
  }
  return true;
}

bool CallSafety::HasRoom(const ThreadRegisters& registers) const {
  const uint64_t top = StackPointerOf(registers);
  const StackMapping stack = MappingOf(top);
  return stack.is_bounded && top - stack.range.begin >= kCallRoomBytes;
}

}  // namespace lagwatch::tools
