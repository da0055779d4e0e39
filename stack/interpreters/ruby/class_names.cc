// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/ruby/class_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::ruby {
namespace {

// Of an object's flags.
constexpr uint64_t kClass = 2;
constexpr uint64_t kModule = 3;
constexpr uint64_t kText = 5;
constexpr uint64_t kInternalShift = 12;
constexpr uint64_t kInternalTypeMask = 0xf;
constexpr uint64_t kSpecialVariables = 2;
constexpr uint64_t kMethod = 6;
constexpr uint64_t kIsSingleton = 1 << 12;
constexpr uint64_t kIsElsewhere = 1 << 13;

// In an environment, before it.
constexpr uint64_t kIsLocal = 2;

constexpr uint64_t kMostTextBytes = 1 << 20;

bool IsClass(uint64_t flags) { return (flags & kTypeMask) == kClass || (flags & kTypeMask) == kModule; }

}  // namespace

size_t ReadText(Memory* memory, uint64_t object, std::span<char> text, bool keeps_end) {
  std::array<uint8_t, 32> header;
  if (object == 0 || object % 8 != 0 || !memory->Read(object, &header)) return 0;
  const auto flags = MemberAt<uint64_t>(header, 0);
  if ((flags & kTypeMask) != kText) return 0;
  const bool is_elsewhere = (flags & kIsElsewhere) != 0;
  const uint64_t size = is_elsewhere ? MemberAt<uint64_t>(header, 16) : flags >> 14 & 31;
  const uint64_t begin = is_elsewhere ? MemberAt<uint64_t>(header, 24) : object + 16;
  if (size > kMostTextBytes) return 0;
  const size_t kept = std::min<size_t>(size, text.size());
  if (kept == 0 || !memory->Read(begin + (keeps_end ? size - kept : 0), text.data(), kept)) return 0;
  CleanText(text.first(kept));
  return kept;
}

uint64_t ClassNames::FlagsOf(uint64_t object) {
  uint64_t flags = 0;
  return object > 8 && object % 8 == 0 && memory_->Read(object, &flags) ? flags : 0;
}

uint64_t ClassNames::FindMethod(uint64_t environment) {
  constexpr int kMostBlocks = 16;
  for (int i = 0; i < kMostBlocks; ++i) {
    std::array<uint64_t, 3> words;  // the method, the environment around it, flags
    if (environment % 8 != 0 || !memory_->Read(environment - 16, &words)) return 0;
    uint64_t method = words[0];
    for (int j = 0; j < 2; ++j) {
      const uint64_t flags = FlagsOf(method);
      if ((flags & kTypeMask) != kInternal) break;
      const uint64_t type = flags >> kInternalShift & kInternalTypeMask;
      if (type == kMethod) return method;
      if (type != kSpecialVariables || !memory_->Read(method + 8, &method)) break;
    }
    if ((words[2] & kIsLocal) != 0) return 0;
    environment = words[1] & ~uint64_t{3};
  }
  return 0;
}

template <typename Visit>
bool ClassNames::VisitVariables(uint64_t owner, Visit visit) {
  constexpr uint64_t kMore = 24;
  constexpr uint64_t kVariables = 8;
  constexpr size_t kMostVariables = 16;
  constexpr size_t kWords = 3;  // of an entry: its hash, its name and its value
  uint64_t more = 0;
  uint64_t table = 0;
  std::array<uint64_t, 7> words;
  if (!memory_->Read(owner + kMore, &more) || more % 8 != 0 || !memory_->Read(more + kVariables, &table) ||
      table == 0 || table % 8 != 0 || !memory_->Read(table, &words))
    return false;
  std::array<uint64_t, kMostVariables * kWords> entries;
  const size_t count = std::min<uint64_t>(words[5], kMostVariables);
  if (count == 0 || !memory_->Read(words[6], entries.data(), count * kWords * sizeof entries[0]))
    return false;
  for (size_t i = 0; i < count; ++i)
    if (visit(entries[i * kWords + 1], entries[i * kWords + 2])) return true;
  return false;
}

size_t ClassNames::ReadPath(uint64_t owner, std::span<char> text) {
  if (path_id_ == 0) {
    uint64_t text_class = 0;
    if (text_class_ == 0 || !memory_->Read(text_class_, &text_class) || !IsClass(FlagsOf(text_class)))
      return 0;
    VisitVariables(text_class, [&](uint64_t id, uint64_t value) {
      char name[8];
      if (std::string_view(name, ReadText(memory_, value, name, false)) != "String") return false;
      path_id_ = id;
      return true;
    });
  }
  size_t size = 0;
  VisitVariables(owner, [&](uint64_t id, uint64_t value) {
    if (path_id_ == 0 || id != path_id_) return false;
    size = ReadText(memory_, value, text, false);
    return true;
  });
  return size;
}

size_t ClassNames::ReadOwner(uint64_t environment, std::span<char> text) {
  constexpr uint64_t kOwner = 32;
  const uint64_t method = FindMethod(environment);
  uint64_t owner = 0;
  if (method == 0 || text.size() < 2 || !memory_->Read(method + kOwner, &owner)) return 0;
  const uint64_t flags = FlagsOf(owner);
  if (!IsClass(flags)) return 0;
  const bool is_singleton = (flags & kTypeMask) == kClass && (flags & kIsSingleton) != 0;
  if (is_singleton) {
    uint64_t attached = 0;
    VisitVariables(owner, [&](uint64_t, uint64_t value) {
      attached = value;
      return IsClass(FlagsOf(value));
    });
    if (!IsClass(FlagsOf(attached))) return 0;
    owner = attached;
  }
  const size_t size = ReadPath(owner, text.first(text.size() - 1));
  if (size == 0 || std::string_view(text.data(), size) == "Object") return 0;
  text[size] = is_singleton ? '.' : '#';
  return size + 1;
}

}  // namespace lagwatch::stack::ruby
