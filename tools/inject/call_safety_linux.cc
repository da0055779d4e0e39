// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "tools/inject/call_safety.h"
#include "tools/inject/mappings.h"
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
constexpr uint64_t kStackWordBytes = sizeof(uint64_t);
constexpr uint64_t kStackWords = 16 * 1024 / kStackWordBytes;
constexpr size_t kInnermostWords =
    256;  // hold the frames of the allocator, which calls nothing outside of it
constexpr uint64_t kCallRoomBytes = 64 * 1024;

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
  CallSafety safety(pid);
  const std::vector<Mapping> mappings = ReadMappings(pid);
  safety.libc_ = LAGWATCH_TRY(LoadedLibrary::FindIn(mappings, pid, "libc.so.6"));
  safety.loader_ = LAGWATCH_TRY(LoadedLibrary::FindIn(mappings, pid, "ld-linux"));
  for (const char* name : kUnsafe) {
    const CodeRange range = safety.libc_.RangeOf(name);
    if (range.begin != 0) safety.unsafe_.push_back(range);
  }
  for (const char* name : kAllocator) safety.allocator_.push_back(safety.libc_.RangeOf(name));
  for (const CodeRange& range : safety.libc_.code()) safety.CopyCode(range);
  safety.FindSignalReturns();
  for (const CodeRange& range : safety.loader_.code()) safety.CopyCode(range);
  safety.AddOwnAllocators(mappings);
  safety.NoteStacksIn(mappings);
  return safety;
}

// An allocator in front of the C library's takes locks in functions of any name.
void CallSafety::AddOwnAllocators(const std::vector<Mapping>& mappings) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink(ProcessFolder(pid_) / "exe", error).filename();
  for (const std::string& name :
       {program, std::string("libjemalloc"), std::string("libtcmalloc"), std::string("libmimalloc")}) {
    const auto library = LoadedLibrary::FindIn(mappings, pid_, name);
    if (!library.ok() || library->AddressOf("malloc") == 0) continue;
    has_own_allocator_ = true;
    for (const char* function : kAllocator) {
      const CodeRange range = library->RangeOf(function);
      allocator_.push_back(range);
      CopyCode(range);
    }
  }
}

void CallSafety::NoteStacks() { NoteStacksIn(ReadMappings(pid_)); }

void CallSafety::NoteStacksIn(const std::vector<Mapping>& mappings) {
  stacks_.clear();
  uint64_t guard_end = 0;
  for (const Mapping& mapping : mappings) {
    if (mapping.is_guard) {
      guard_end = mapping.end;
    } else {
      const bool is_bounded = mapping.begin == guard_end || mapping.path == "[stack]";
      stacks_.push_back({{mapping.begin, mapping.end}, is_bounded});
    }
  }
}

CallSafety::StackMapping CallSafety::StackOf(uint64_t stack_pointer) const {
  const auto next = std::ranges::upper_bound(stacks_, stack_pointer, {},
                                             [](const StackMapping& stack) { return stack.range.begin; });
  if (next == stacks_.begin() || !std::prev(next)->range.Holds(stack_pointer)) return {};
  return *std::prev(next);
}

void CallSafety::CopyCode(const CodeRange& range) {
  constexpr uint64_t kMostBytes = 64 << 20;
  if (range.end - range.begin > kMostBytes) return;
  CodeCopy copy{.range = range, .bytes = std::string(range.end - range.begin, '\0')};
  copy.bytes.resize(ReadMemory(pid_, range.begin, copy.bytes.data(), copy.bytes.size()));
  copies_.push_back(std::move(copy));
}

void CallSafety::FindSignalReturns() {
  for (const CodeCopy& copy : copies_) {
    for (size_t at = copy.bytes.find(kSignalReturnCode); at != std::string::npos;
         at = copy.bytes.find(kSignalReturnCode, at + 1))
      signal_returns_.push_back(copy.range.begin + at);
  }
}

bool CallSafety::IsCopied(uint64_t address) const {
  return std::ranges::any_of(copies_, [&](const CodeCopy& copy) { return copy.range.Holds(address); });
}

// Follows a call instruction.
bool CallSafety::IsReturnAddress(uint64_t address) const {
#if defined(__x86_64__)
  constexpr size_t kLongestCall = 7;
  constexpr char kNearCall = '\xE8';
  constexpr char kIndirectCall = '\xFF';
  for (const CodeCopy& copy : copies_) {
    if (address < copy.range.begin + kLongestCall || address > copy.range.begin + copy.bytes.size()) continue;
    const char* end = &copy.bytes[address - copy.range.begin];
    if (end[-5] == kNearCall) return true;
    for (const int length : {2, 3, 4, 6, 7})
      if (end[-length] == kIndirectCall && (end[1 - length] & 0x38) == 0x10) return true;
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
  const uint64_t end = StackOf(top).range.end;
  std::vector<uint64_t> words(end == 0 ? kStackWords : std::min(kStackWords, (end - top) / kStackWordBytes));
  words.resize(ReadMemory(pid_, top, words.data(), words.size() * kStackWordBytes) / kStackWordBytes);
  if (words.empty()) return false;
  int loader_frames = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const uint64_t word = words[i];
    if (std::ranges::find(signal_returns_, word) != signal_returns_.end() && IsSignalFrame(words, i))
      return false;
    // A constructor that waits keeps the loader's lock, which its own thread may take again.
    if (place == StoppedIn::kWait || !IsCopied(word)) continue;
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
  const StackMapping stack = StackOf(top);
  return stack.is_bounded && top - stack.range.begin >= kCallRoomBytes;
}

}  // namespace lagwatch::tools
