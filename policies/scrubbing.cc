// SPDX-License-Identifier: Apache-2.0
#include "policies/scrubbing.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lagwatch::policies {
namespace {

constexpr size_t kLeastHexDigits = 12;
constexpr size_t kLeastDecimalDigits = 6;

// The character's own classes, whatever the program's locale.
bool IsDigit(char byte) { return byte >= '0' && byte <= '9'; }
bool IsHexDigit(char byte) {
  return IsDigit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}
bool IsLetter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }
// Part of a name before an '@', of a host after it, or of a longer word: bytes of UTF-8 are.
bool IsNamePart(char byte) {
  constexpr std::string_view kMarks = "._%+-";
  return IsLetter(byte) || IsDigit(byte) || kMarks.find(byte) != kMarks.npos || (byte & 0x80) != 0;
}
bool IsBlank(char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }
bool IsInsideCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

template <typename Is>
size_t RunSize(std::string_view text, Is is) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is) - text.begin());
}

// The size of an address at the begin: "jane.doe@example.org".
size_t EmailSize(std::string_view text) {
  const size_t name = RunSize(text, IsNamePart);
  if (name == 0 || name == text.size() || text[name] != '@') return 0;
  const std::string_view host = text.substr(name + 1, RunSize(text.substr(name + 1), IsNamePart));
  return host.empty() ? 0 : name + 1 + host.size();
}

// The size of a number at the begin: "0123456789ab", "01932d5c-7a4e-7cc0-98c4-dc0c0c07398f".
size_t NumberSize(std::string_view text) {
  size_t digits = 0;
  size_t decimals = 0;
  size_t size = 0;
  for (size_t i = 0; i < text.size() && (IsHexDigit(text[i]) || text[i] == '-'); ++i) {
    if (text[i] == '-') continue;
    ++digits;
    decimals += IsDigit(text[i]);
    size = i + 1;
  }
  return digits >= kLeastHexDigits && decimals >= kLeastDecimalDigits ? size : 0;
}

// The size of a telephone number at the begin: "+1 555 123 4567", "+49 (0)170.1234567".
size_t InternationalNumberSize(std::string_view text) {
  constexpr size_t kLeastDigits = 10;
  constexpr size_t kMostBetweenDigits = 2;
  constexpr std::string_view kBetween = " .-()";
  if (text[0] != '+') return 0;
  size_t digits = 0;
  size_t size = 1;
  for (size_t i = 1; i < text.size() && i - size <= kMostBetweenDigits; ++i) {
    if (IsDigit(text[i])) {
      ++digits;
      size = i + 1;
    } else if (kBetween.find(text[i]) == kBetween.npos) {
      break;
    }
  }
  return digits >= kLeastDigits ? size : 0;
}

// The size of a number at the begin in the groups of a card's or a telephone's: "4111 1111 1111 1111".
size_t GroupedNumberSize(std::string_view text) {
  constexpr std::string_view kShapes[] = {"0000 0000 0000 0000", "0000 000000 00000", "000-000-0000",
                                          "0-000-000-0000",      "000.000.0000",      "(000) 000-0000"};
  for (const std::string_view shape : kShapes) {
    auto fits = [](char of_shape, char byte) { return of_shape == '0' ? IsDigit(byte) : of_shape == byte; };
    if (text.size() < shape.size() || !std::ranges::equal(shape, text.substr(0, shape.size()), fits))
      continue;
    const std::string_view rest = text.substr(shape.size());
    const bool goes_on =
        !rest.empty() && (IsDigit(rest[0]) || (rest.size() > 1 && !IsLetter(rest[0]) && IsDigit(rest[1])));
    if (!goes_on) return shape.size();
  }
  return 0;
}

// Calls visit(n) for each bit that is set.
template <typename Visit>
void ForEachBit(uint64_t bits, Visit visit) {
  for (; bits != 0; bits &= bits - 1) visit(static_cast<size_t>(std::countr_zero(bits)));
}

// The longest match of the pattern at the text's begin; 0 without one.
size_t LongestMatch(std::string_view pattern, std::string_view text) {
  const bool may_begin = pattern[0] == '*' || pattern[0] == '?' || pattern[0] == text[0];
  if (!may_begin) return 0;
  // The places in the pattern that can have been reached, all at once: bit n if its first n bytes match.
  const uint64_t end = uint64_t{1} << pattern.size();
  auto past_stars = [&](uint64_t reached) {
    for (size_t n = 0; n < pattern.size(); ++n)
      if (pattern[n] == '*' && (reached >> n & 1) != 0) reached |= uint64_t{2} << n;
    return reached;
  };
  size_t longest = 0;
  uint64_t reached = past_stars(1);
  for (size_t at = 0; at < text.size() && reached != 0; ++at) {
    uint64_t next = 0;
    ForEachBit(reached & (end - 1), [&](size_t n) {
      if (pattern[n] == '*' && !IsBlank(text[at])) next |= uint64_t{1} << n;
      if (pattern[n] == '?' || pattern[n] == text[at]) next |= uint64_t{2} << n;
    });
    reached = past_stars(next);
    if ((reached & end) != 0) longest = at + 1;
  }
  return longest;
}

}  // namespace

bool ScrubbedText::Append(std::string_view text) {
  size_t size = std::min(text.size(), kMaxBytes - size_);
  const bool is_whole = size == text.size();
  while (!is_whole && size > 0 && IsInsideCharacter(text[size])) --size;
  std::memcpy(bytes_ + size_, text.data(), size);
  size_ += size;
  bytes_[size_] = '\0';
  return is_whole;
}

Scrubber::Scrubber(std::string_view patterns, std::string_view home) {
  while (!patterns.empty() && pattern_count_ < kMaxPatterns) {
    const std::string_view line = patterns.substr(0, patterns.find('\n'));
    patterns.remove_prefix(std::min(line.size() + 1, patterns.size()));
    const bool is_good = line.size() <= kMaxPatternBytes && line.find_first_not_of('*') != line.npos;
    if (!is_good) continue;
    Pattern& pattern = patterns_[pattern_count_++];
    std::ranges::copy(line, pattern.bytes.begin());
    pattern.size = line.size();
  }
  while (home.ends_with('/')) home.remove_suffix(1);
  if (home.size() < 2 || home[0] != '/' || home.size() > home_.size()) return;  // "/" is no user's
  std::ranges::copy(home, home_.begin());
  home_size_ = home.size();
}

size_t Scrubber::HomeSize(std::string_view path, std::string_view* replacement) const {
  if (path.empty() || path[0] != '/') return 0;
  auto ends_name = [&](size_t at) { return at == path.size() || !IsNamePart(path[at]); };
  *replacement = kHome;
  const std::string_view own(home_.data(), home_size_);
  if (!own.empty() && path.starts_with(own) && ends_name(own.size())) return own.size();
  constexpr std::string_view kRoot = "/root";
  if (path.starts_with(kRoot) && ends_name(kRoot.size())) return kRoot.size();
  struct HomePath {
    std::string_view before;
    std::string_view replacement;
  };
  constexpr HomePath kPlaces[] = {{"/home/", kHome},
                                  {"/var/home/", kHome},
                                  {"/Users/", kHome},
                                  {"/run/user/", "/run/user/~"},
                                  {"/run/media/", "/run/media/~"},
                                  {"/media/", "/media/~"}};
  for (const HomePath& place : kPlaces) {
    if (!path.starts_with(place.before)) continue;
    const std::string_view rest = path.substr(place.before.size());
    const size_t name = RunSize(rest, [](char byte) { return byte != '/' && !IsBlank(byte); });
    if (name == 0) return 0;
    *replacement = place.replacement;
    return place.before.size() + name;
  }
  return 0;
}

ScrubbedText Scrubber::Path(std::string_view path) const {
  ScrubbedText out;
  std::string_view replacement;
  const size_t home = HomeSize(path, &replacement);
  if (home > 0) out.Append(replacement);
  out.Append(path.substr(home));
  return out;
}

size_t Scrubber::MatchSize(std::string_view text) const {
  size_t longest = 0;
  for (size_t i = 0; i < pattern_count_; ++i)
    longest = std::max(longest, LongestMatch(patterns_[i].view(), text));
  return longest;
}

ScrubbedText Scrubber::Text(std::string_view text) const {
  ScrubbedText out;
  bool has_room = true;
  for (char before = ' '; !text.empty() && has_room;) {
    std::string_view replacement = kMark;
    size_t size = MatchSize(text);
    if (size == 0 && !IsNamePart(before)) size = EmailSize(text);
    if (size == 0 && !IsHexDigit(before)) size = NumberSize(text);
    if (size == 0 && !IsNamePart(before)) size = InternationalNumberSize(text);
    if (size == 0 && !IsNamePart(before)) size = GroupedNumberSize(text);
    if (size == 0 && !IsNamePart(before)) size = HomeSize(text, &replacement);
    if (size > 0) {
      has_room = out.Append(replacement);
    } else {
      // A character as a whole, or it would be cut off in its middle.
      size = 1 + RunSize(text.substr(1), IsInsideCharacter);
      has_room = out.Append(text.substr(0, size));
    }
    before = text[size - 1];
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace lagwatch::policies
