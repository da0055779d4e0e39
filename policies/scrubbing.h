// SPDX-License-Identifier: Apache-2.0
// Removes personal data from texts before they are written: users' names in paths, e-mail addresses, long
// numbers, and matches of the program's own patterns. The user's privacy must not depend on a text's source;
// so it is done once, on the way to the disk. Allocates nothing. Context: watchdog; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::policies {

// A text without personal data; short enough for the stack.
class ScrubbedText {
 public:
  static constexpr size_t kMaxBytes = 512;

  // Valid as long as this object. A longer text is cut off between two characters.
  std::string_view view() const { return {bytes_, size_}; }
  const char* c_str() const { return bytes_; }

 private:
  friend class Scrubber;

  bool Append(std::string_view text);

  size_t size_ = 0;
  char bytes_[kMaxBytes + 1] = "";
};

class Scrubber {
 public:
  static constexpr size_t kMaxPatterns = 8;
  static constexpr size_t kMaxPatternBytes = 63;
  static constexpr std::string_view kMark = "…";  // replaces removed text
  static constexpr std::string_view kHome = "~";

  Scrubber() = default;
  // `patterns`: one per line, '*' for any run without blanks, '?' for any one byte; the longest match
  // anywhere in a text is removed. Empty and overlong ones are ignored, and those that consist of '*' only;
  // so are more than kMaxPatterns. `home`: of this user, if it is not one of the usual places; may be empty.
  Scrubber(std::string_view patterns, std::string_view home);

  // "/home/jane/bin/edit" becomes "~/bin/edit"; so do /root, /var/home/jane and /Users/jane. In
  // /run/user/1000, and in /run/media/jane and /media/jane, the last name becomes "~".
  ScrubbedText Path(std::string_view path) const;
  // Paths as above, wherever they begin; e-mail addresses; runs of 12 or more hexadecimal digits, hyphens
  // between them or not, with 6 or more of them decimal; numbers of 10 or more digits after a '+', or in the
  // groups of a card's or a telephone's; and the patterns' matches.
  ScrubbedText Text(std::string_view text) const;

 private:
  struct Pattern {
    std::array<char, kMaxPatternBytes> bytes{};
    size_t size = 0;
    std::string_view view() const { return {bytes.data(), size}; }
  };
  // The size of the part of `path` that names a home, and its replacement; 0 if none does.
  size_t HomeSize(std::string_view path, std::string_view* replacement) const;
  // The size of a pattern's match at the begin of `text`.
  size_t MatchSize(std::string_view text) const;

  size_t pattern_count_ = 0;
  std::array<Pattern, kMaxPatterns> patterns_;
  std::array<char, 256> home_{};
  size_t home_size_ = 0;
};

}  // namespace lagwatch::policies
