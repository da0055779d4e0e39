// SPDX-License-Identifier: Apache-2.0
// A segment's path, made without allocation. Context: watchdog.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "report/spool/segment_format.h"

namespace lagwatch::report {

class SegmentPath {
 public:
  static constexpr size_t kMaxBytes = 4096;

  // "DIRECTORY/SESSION-": the beginning of all paths of a session. Context: background.
  static std::string PrefixOf(const std::string& directory, const base::Uuid& session) {
    return directory + "/" + base::ToString(session) + "-";
  }
  // Whether every segment's path has room.
  static bool Fits(std::string_view prefix) {
    return prefix.size() + kMaxSequenceDigits + kSealedSuffix.size() + kOpenSuffix.size() < kMaxBytes;
  }

  // `prefix` fits.
  SegmentPath(std::string_view prefix, uint32_t sequence, std::string_view suffix) {
    *Put(suffix, PutSequence(sequence, Put(prefix, text_))) = '\0';
  }
  const char* text() const { return text_; }

 private:
  static constexpr size_t kSequenceDigits = 6;  // at least: names sort by age for the first million segments
  static constexpr size_t kMaxSequenceDigits = 10;  // of a uint32_t

  static char* Put(std::string_view text, char* at) { return std::copy(text.begin(), text.end(), at); }
  static char* PutSequence(uint32_t sequence, char* at) {
    char digits[kMaxSequenceDigits];
    size_t count = 0;
    for (; sequence != 0 || count < kSequenceDigits; sequence /= 10) {
      digits[count++] = static_cast<char>('0' + sequence % 10);
    }
    return std::reverse_copy(digits, digits + count, at);
  }

  char text_[kMaxBytes];
};

}  // namespace lagwatch::report
