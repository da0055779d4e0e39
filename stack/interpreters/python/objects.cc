// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/objects.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "stack/interpreters/bytes.h"
#include "stack/interpreters/text.h"

namespace lagwatch::stack::python {
namespace {

constexpr uint64_t kTextStateOffset = 32;
constexpr uint32_t kIsCompact = 1 << 5;
constexpr uint32_t kIsAscii = 1 << 6;

}  // namespace

Symbols Symbols::Of(const ExportedSymbols& exports) {
  return {.runtime = exports.Find("_PyRuntime"),
          .code_type = exports.Find("PyCode_Type"),
          .text_type = exports.Find("PyUnicode_Type"),
          .bytes_type = exports.Find("PyBytes_Type"),
          .number_type = exports.Find("PyLong_Type"),
          .dict_type = exports.Find("PyDict_Type"),
          .module_type = exports.Find("PyModule_Type"),
          .coroutine_type = exports.Find("PyCoro_Type"),
          .function_type = exports.Find("PyCFunction_Type"),
          .version = exports.Find("Py_Version")};
}

bool Objects::IsOfType(uint64_t object, uint64_t type) {
  uint64_t found = 0;
  return object != 0 && object % 8 == 0 && memory_->Read(object + kTypeOffset, &found) && found == type;
}

size_t Objects::ReadText(uint64_t object, char* text, size_t size_bytes) {
  constexpr int64_t kMostLetters = 4096;
  int64_t length = 0;
  uint32_t state = 0;
  if (!IsOfType(object, symbols_.text_type) || !memory_->Read(object + kLengthOffset, &length) ||
      !memory_->Read(object + kTextStateOffset, &state))
    return 0;
  if (length <= 0 || length > kMostLetters || (state & kIsCompact) == 0) return 0;
  const uint32_t letter_bytes = state >> 2 & 7;
  if (letter_bytes != 1 && letter_bytes != 2 && letter_bytes != 4) return 0;
  const uint64_t begin = object + ((state & kIsAscii) != 0 ? layout_->ascii_text : layout_->wide_text);
  // The end of a path says more than its beginning.
  const auto letters = static_cast<uint64_t>(length);
  const uint64_t kept = std::min<uint64_t>(letters, size_bytes);
  std::array<uint8_t, 4096> raw;
  const uint64_t kept_bytes =
      std::min<uint64_t>(kept * letter_bytes, raw.size()) / letter_bytes * letter_bytes;
  if (!memory_->Read(begin + letters * letter_bytes - kept_bytes, raw.data(), kept_bytes)) return 0;
  size_t size = 0;
  for (uint64_t i = 0; i < kept_bytes; i += letter_bytes) {
    uint32_t point = 0;
    for (uint32_t byte = 0; byte < letter_bytes; ++byte) point |= uint32_t{raw[i + byte]} << (8 * byte);
    AppendUtf8(point, text, size_bytes, &size);
  }
  return size;
}

bool Objects::IsText(uint64_t object, std::string_view text) {
  std::array<uint8_t, 96> bytes;
  const size_t size = layout_->ascii_text + text.size();
  if (object == 0 || object % 8 != 0 || size > bytes.size() || !memory_->Read(object, bytes.data(), size))
    return false;
  return MemberAt<uint64_t>(bytes, kTypeOffset) == symbols_.text_type &&
         MemberAt<uint64_t>(bytes, kLengthOffset) == text.size() &&
         (MemberAt<uint32_t>(bytes, kTextStateOffset) & kIsAscii) != 0 &&
         std::memcmp(&bytes[layout_->ascii_text], text.data(), text.size()) == 0;
}

int64_t Objects::ReadNumber(uint64_t object) {
  constexpr uint64_t kTag = 16;
  constexpr uint64_t kOneDigit = 1 << 3;  // its lowest bits are the sign: 0 is positive
  uint64_t tag = 0;
  uint32_t digit = 0;
  const bool is_read = IsOfType(object, symbols_.number_type) && memory_->Read(object + kTag, &tag) &&
                       memory_->Read(object + kTag + sizeof tag, &digit);
  return is_read && (tag & ~uint64_t{4}) == kOneDigit ? digit : -1;
}

int64_t Objects::CountOf(uint64_t dict) {
  constexpr uint64_t kUsed = 16;
  int64_t used = 0;
  return IsOfType(dict, symbols_.dict_type) && memory_->Read(dict + kUsed, &used) ? used : -1;
}

bool Objects::FindEntries(uint64_t dict, Entries* entries) {
  constexpr uint64_t kKeys = 32;
  std::array<uint64_t, 2> keys_and_values;
  std::array<uint8_t, 40> keys;
  if (!IsOfType(dict, symbols_.dict_type) || !memory_->Read(dict + kKeys, &keys_and_values) ||
      keys_and_values[0] % 8 != 0 || keys_and_values[1] != 0 || !memory_->Read(keys_and_values[0], &keys))
    return false;
  uint64_t index_bytes = 0;
  if (layout_->lines == LineTable::kLocations) {
    constexpr uint8_t kOnlyTexts = 1;
    const uint8_t log2_bytes = keys[9];
    if (log2_bytes > 32 || keys[10] > kOnlyTexts) return false;
    index_bytes = uint64_t{1} << log2_bytes;
    *entries = {keys_and_values[0] + 32 + index_bytes, MemberAt<uint64_t>(keys, 24),
                keys[10] == kOnlyTexts ? size_t{2} : size_t{3}};
  } else {
    const auto size = MemberAt<uint64_t>(keys, 8);
    index_bytes = size * (size <= 0xff ? 1 : size <= 0xffff ? 2 : 4);
    *entries = {keys_and_values[0] + 40 + index_bytes, MemberAt<uint64_t>(keys, 32), 3};
  }
  return entries->count <= kMostEntries;
}

uint64_t Objects::FindInDict(uint64_t dict, std::string_view key) {
  uint64_t found = 0;
  VisitDict(dict, [&](uint64_t other, uint64_t value) {
    if (!IsText(other, key)) return false;
    found = value;
    return true;
  });
  return found;
}

}  // namespace lagwatch::stack::python
