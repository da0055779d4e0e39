// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/php/reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::php {
namespace {

// In executor_globals.
constexpr uint64_t kCurrentFrame = 488;
constexpr uint64_t kOperationBeforeException = 880;

// In a frame.
constexpr size_t kOperation = 0;
constexpr size_t kFunction = 24;
constexpr size_t kObjectOfCall = 32;
constexpr size_t kCallFlags = 40;  // its lowest byte is the type of what the call has in kObjectOfCall
constexpr size_t kCaller = 48;
constexpr size_t kFrameBytes = 56;
constexpr uint32_t kCalledByC = 0x20000;

// In a function.
constexpr size_t kName = 8;
constexpr size_t kClass = 16;
constexpr size_t kOperationCount = 80;
constexpr size_t kOperations = 88;
constexpr size_t kFile = 152;
constexpr size_t kFunctionBytes = 160;
constexpr uint8_t kUserFunction = 2;
constexpr uint8_t kEvalCode = 4;
constexpr uint64_t kClassName = 8;

// Of an operation.
constexpr uint64_t kOperationBytes = 32;
constexpr uint64_t kLine = 24;

constexpr size_t kMostNameBytes = 128;

}  // namespace

std::string_view StablePath(std::string_view path) {
  constexpr std::string_view kPackages = "/vendor/";
  if (const size_t at = path.rfind(kPackages); at != path.npos) return path.substr(at + kPackages.size());
  return path.substr(path.rfind('/') + 1);
}

PhpReader::Version PhpReader::FindVersion() {
  constexpr uint64_t kEntriesOfTable = 16;
  constexpr uint32_t kApiOf8_2 = 20220829;
  uint64_t entries = 0;
  uint64_t module = 0;
  std::array<uint8_t, 16> header;
  if (!memory_->Read(modules_ + kEntriesOfTable, &entries) || entries == 0 ||
      !memory_->Read(entries, &module) || module == 0 || !memory_->Read(module, &header))
    return Version::kNotStarted;
  const bool is_debug = header[8] != 0;
  const bool is_thread_safe = header[9] != 0;
  const bool is_known = MemberAt<uint32_t>(header, 4) == kApiOf8_2 && !is_debug && !is_thread_safe;
  return is_known ? Version::kKnown : Version::kOther;
}

bool PhpReader::Read(const Registers* registers, ScriptFunctions* functions, ScriptFrames* frames) {
  last_read_ = memory_->read_count() + kMostReads;
  for (int i = 0; i < kTries && !IsOverBudget(); ++i) {
    frames->count = 0;
    frames->is_cut = false;
    uint64_t frame = 0;
    uint64_t after = 0;
    if (!memory_->Read(globals_ + kCurrentFrame, &frame) || frame == 0) return false;
    if (!Walk(frame, registers, functions, frames)) continue;
    // The stack of a thread that never rests has changed a little meanwhile, every time.
    const bool is_same = memory_->Read(globals_ + kCurrentFrame, &after) && after == frame;
    if (is_same || i == kTries - 1) return frames->count != 0;
  }
  return false;
}

bool PhpReader::Walk(uint64_t frame, const Registers* registers, ScriptFunctions* functions,
                     ScriptFrames* frames) {
  constexpr uint8_t kObject = 8;
  uint64_t inner = 0;
  for (int i = 0; frame != 0 && i < kMostFrames && !frames->is_cut; ++i) {
    std::array<uint8_t, kFrameBytes> bytes;
    if (frame % 8 != 0 || IsOverBudget() || !memory_->Read(frame, &bytes)) return false;
    const auto object = MemberAt<uint64_t>(bytes, kObjectOfCall);
    const bool stands_for_generators =
        MemberAt<uint64_t>(bytes, kFunction) == 0 && bytes[kCallFlags] == kObject && object != 0;
    if (stands_for_generators ? !AddGenerators(object, inner, functions, frames)
                              : !AddFrame(bytes, registers, functions, frames))
      return false;
    inner = frame;
    frame = MemberAt<uint64_t>(bytes, kCaller);
  }
  return true;
}

bool PhpReader::AddGenerators(uint64_t generator, uint64_t inner, ScriptFunctions* functions,
                              ScriptFrames* frames) {
  constexpr uint64_t kFrameOfGenerator = 56;
  constexpr uint64_t kDelegatesTo = 152;
  std::array<uint64_t, 32> own_frames;
  size_t count = 0;
  while (count < own_frames.size() && generator != 0) {
    uint64_t& frame = own_frames[count];
    if (generator % 8 != 0 || !memory_->Read(generator + kFrameOfGenerator, &frame) ||
        !memory_->Read(generator + kDelegatesTo, &generator))
      return false;
    if (frame == inner) break;
    ++count;
  }
  // All are of the call that runs the last one.
  const size_t begin = frames->count == 0 ? 0 : frames->count - 1;
  while (count != 0) {
    std::array<uint8_t, kFrameBytes> bytes;
    const uint64_t frame = own_frames[--count];
    if (frame % 8 != 0 || !memory_->Read(frame, &bytes) || !AddFrame(bytes, nullptr, functions, frames))
      return false;
  }
  for (size_t i = begin; i + 1 < frames->count; ++i) frames->frames[i].ends_call = false;
  return true;
}

bool PhpReader::AddFrame(std::span<const uint8_t> bytes, const Registers* registers,
                         ScriptFunctions* functions, ScriptFrames* frames) {
  const auto function = MemberAt<uint64_t>(bytes, kFunction);
  std::array<uint8_t, kFunctionBytes> members;
  if (function == 0) return true;
  if (function % 8 != 0 || !memory_->Read(function, members.data(), kName)) return false;
  if (members[0] != kUserFunction && members[0] != kEvalCode) return true;
  if (!memory_->Read(function, &members)) return false;
  if (frames->count == ScriptFrames::kMost) {
    frames->is_cut = true;
    return true;
  }
  ScriptFrame& read = frames->frames[frames->count];
  if (!ReadFunction(members, functions, &read.function)) return false;
  read.line =
      ReadLine(members, MemberAt<uint64_t>(bytes, kOperation), frames->count == 0 ? registers : nullptr);
  read.ends_call = (MemberAt<uint32_t>(bytes, kCallFlags) & kCalledByC) != 0;
  ++frames->count;
  return true;
}

bool PhpReader::ReadFunction(std::span<const uint8_t> function, ScriptFunctions* functions,
                             uint64_t* number) {
  constexpr std::string_view kMain = "main script";
  constexpr std::string_view kSeparator = "::";
  char text[2 * kMostNameBytes + kSeparator.size()];
  char path[1024];
  size_t size = 0;
  const auto name = MemberAt<uint64_t>(function, kName);
  const auto scope = MemberAt<uint64_t>(function, kClass);
  uint64_t scope_name = 0;
  if (name == 0) {
    size = kMain.copy(text, kMain.size());
  } else {
    if (scope != 0 && (scope % 8 != 0 || !memory_->Read(scope + kClassName, &scope_name))) return false;
    if (scope_name != 0) {
      size = ReadText(scope_name, std::span(text).first(kMostNameBytes));
      size += kSeparator.copy(text + size, kSeparator.size());
    }
    const size_t name_size = ReadText(name, std::span(text).subspan(size));
    if (name_size == 0) return false;
    size += name_size;
  }
  const size_t path_size = ReadText(MemberAt<uint64_t>(function, kFile), path);
  *number = functions->Add({{text, size}, StablePath({path, path_size})});
  return true;
}

uint32_t PhpReader::ReadLine(std::span<const uint8_t> function, uint64_t saved, const Registers* registers) {
  const auto begin = MemberAt<uint64_t>(function, kOperations);
  const uint64_t end = begin + MemberAt<uint32_t>(function, kOperationCount) * kOperationBytes;
  const auto is_own = [&](uint64_t address) {
    return address >= begin && address < end && (address - begin) % kOperationBytes == 0;
  };
  // A frame saves its operation where it calls; the one that runs is in one of the last registers.
  for (int i = registers == nullptr ? 0 : Registers::kCount; i > 0; --i) {
    if (!registers->is_known(i - 1) || !is_own(registers->value[i - 1])) continue;
    saved = registers->value[i - 1];
    break;
  }
  if (!is_own(saved)) memory_->Read(globals_ + kOperationBeforeException, &saved);
  uint32_t line = 0;
  return is_own(saved) && memory_->Read(saved + kLine, &line) ? line : 0;
}

size_t PhpReader::ReadText(uint64_t address, std::span<char> text) {
  constexpr uint32_t kTypeMask = 0xf;
  constexpr uint32_t kText = 6;
  constexpr uint64_t kMostBytes = 1 << 20;
  constexpr uint64_t kBegin = 24;
  std::array<uint8_t, kBegin> header;
  if (address == 0 || address % 8 != 0 || !memory_->Read(address, &header)) return 0;
  const auto size = MemberAt<uint64_t>(header, 16);
  if ((MemberAt<uint32_t>(header, 4) & kTypeMask) != kText || size > kMostBytes) return 0;
  // Names of anonymous classes go on, behind a zero, with what differs from run to run.
  const size_t kept = std::min<size_t>(size, text.size());
  // The end of a path says more than its beginning.
  if (kept == 0 || !memory_->Read(address + kBegin + (size - kept), text.data(), kept)) return 0;
  const size_t shown = strnlen(text.data(), kept);
  CleanText(text.first(shown));
  return shown;
}

}  // namespace lagwatch::stack::php
