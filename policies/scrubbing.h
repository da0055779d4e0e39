// SPDX-License-Identifier: Apache-2.0
// What is taken out of texts before they are written: whose home a path is in, e-mail addresses, long
// numbers, and what the program's own patterns find. What is kept for the user's privacy must hold wherever a
// text comes from; so it is done once, on the way to the disk. Allocates nothing. Context: watchdog; pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lagwatch::policies {

// A text without what is private; short enough for the stack.
class ScrubbedText {
 public:
  static constexpr size_t kMaxBytes = 512;

  // Valid as long as this is. What did not fit is cut off between two characters.
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
  static constexpr std::string_view kMark = "…";  // stands for what was taken out
  static constexpr std::string_view kHome = "~";

  Scrubber() = default;
  // `patterns`: one a line, '*' for any run without blanks, '?' for any one byte; the longest match anywhere
  // in a text is taken out. Empty and overlong ones are left out, and those that match nothing but '*'; so
  // are more than kMaxPatterns. `home`: of this user, when it is none of the usual places; may be empty.
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
  // How much of `path` names a home, and what stands for it; 0 when none does.
  size_t HomeSize(std::string_view path, std::string_view* replacement) const;
  // How much of `text` one of the patterns matches at its beginning.
  size_t MatchSize(std::string_view text) const;

  size_t pattern_count_ = 0;
  std::array<Pattern, kMaxPatterns> patterns_;
  std::array<char, 256> home_{};
  size_t home_size_ = 0;
};

}  // namespace lagwatch::policies
