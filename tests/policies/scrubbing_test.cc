// SPDX-License-Identifier: Apache-2.0
#include "policies/scrubbing.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace lagwatch::policies {
namespace {

std::string Text(const Scrubber& scrubber, std::string_view text) {
  return std::string(scrubber.Text(text).view());
}
std::string Path(const Scrubber& scrubber, std::string_view path) {
  return std::string(scrubber.Path(path).view());
}

TEST(Scrubber, TellsNoHomeInAPath) {
  const Scrubber scrubber("", "/data/people/jane/");
  const std::pair<const char*, const char*> paths[] = {
      {"/home/jane/bin/edit", "~/bin/edit"},
      {"/home/jane", "~"},
      {"/var/home/jane/lib.so", "~/lib.so"},
      {"/Users/jane/lib.so", "~/lib.so"},
      {"/root/lib.so", "~/lib.so"},
      {"/data/people/jane/lib.so", "~/lib.so"},
      {"/data/people/janet/lib.so", "/data/people/janet/lib.so"},
      {"/run/user/1000/doc/lib.so", "/run/user/~/doc/lib.so"},
      {"/run/media/jane/stick/lib.so", "/run/media/~/stick/lib.so"},
      {"/media/jane/stick/lib.so", "/media/~/stick/lib.so"},
      {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libc.so.6"},
      {"/rootfs/lib.so", "/rootfs/lib.so"},
      {"/home/", "/home/"},
      {"/opt/home/x/lib.so", "/opt/home/x/lib.so"},
      {"/opt/0123456789abcdef/lib.so", "/opt/0123456789abcdef/lib.so"},
      {"[vdso]", "[vdso]"},
      {"", ""},
  };
  for (const auto& [path, wanted] : paths) EXPECT_EQ(Path(scrubber, path), wanted);
  EXPECT_EQ(Path(Scrubber("", "/"), "/opt/lib.so"), "/opt/lib.so");
}

TEST(Scrubber, TakesOutWhatNamesSomebody) {
  const Scrubber scrubber;
  const std::pair<const char*, const char*> texts[] = {
      {"mail to jane.doe@example.org", "mail to …"},
      {"<jane+x@example.org>", "<…>"},
      {"@everyone", "@everyone"},
      {"a @ b", "a @ b"},
      {"open /home/jane/letter.txt", "open ~/letter.txt"},
      {"file:///home/jane/letter.txt", "file://~/letter.txt"},
      {"PATH=/home/jane/bin:/home/bob/bin", "PATH=~/bin:~/bin"},
      {"call 004917012345678", "call …"},
      {"card 4111-1111-1111-1111.", "card …."},
      {"01932d5c-7a4e-7cc0-98c4-dc0c0c07398f", "…"},
      {"at 0x7ffd12345678", "at 0x…"},
      {"worker-17", "worker-17"},
      {"2026-11-21", "2026-11-21"},
      {"feedfacedeadbeef", "feedfacedeadbeef"},
      {"pool 12345678901", "pool 12345678901"},
      {"grüße", "grüße"},
      {"", ""},
  };
  for (const auto& [text, wanted] : texts) EXPECT_EQ(Text(scrubber, text), wanted);
}

TEST(Scrubber, TakesOutNumbersInGroups) {
  const std::pair<const char*, const char*> texts[] = {
      {"call +1 555 123 4567.", "call …."},
      {"call +1 (555) 123-4567, twice", "call …, twice"},
      {"+49 (0)170.1234567, 3 times", "…, 3 times"},
      {"tel:+15551234567", "tel:…"},
      {"call +1 555 123 4567   3 times", "call …   3 times"},
      {"card 4111 1111 1111 1111, 3 items", "card …, 3 items"},
      {"card 3782 822463 10005", "card …"},
      {"555-123-4567", "…"},
      {"1-555-123-4567", "…"},
      {"(555) 123-4567", "…"},
      {"555.123.4567;", "…;"},
  };
  for (const auto& [text, wanted] : texts) EXPECT_EQ(Text(Scrubber(), text), wanted);
}

TEST(Scrubber, LeavesDatesVersionsCountsAndAddresses) {
  for (const char* text :
       {"2026-11-21 10:15:30", "21.11.2026 10.15", "2026-11-21T10:15:30+0100", "20261121 101530",
        "192.168.100.200", "192.168.100.200:8080", "10.0.19045.3693", "123.456.7890.1", "v2.1.3-rc1+20261121",
        "100 200 3000 frames", "1920 1080 60", "+12 +345 -678", "+123456789 ns", "C++17 2026",
        "a+1 555 123 4567", "layer (100) 200-300", "1000-200-3000", "555-123-45678", "a:+"})
    EXPECT_EQ(Text(Scrubber(), text), text);
}

TEST(Scrubber, TakesOutWhatThePatternsFind) {
  const Scrubber scrubber("token=*\nproject-??\n\n***\nsecret plan", "");
  const std::pair<const char*, const char*> texts[] = {
      {"GET /x?token=abc&y=1 ok", "GET /x?… ok"},
      {"project-ab, project-a", "…, project-a"},
      {"the secret plan of secret plans", "the … of …s"},
      {"token", "token"},
  };
  for (const auto& [text, wanted] : texts) EXPECT_EQ(Text(scrubber, text), wanted);
  // Without patterns, and with ones that cannot be.
  EXPECT_EQ(Text(Scrubber(std::string(64, 'a'), ""), std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(Text(Scrubber(std::string(63, 'a'), ""), std::string(64, 'a')), "…a");
  std::string many;
  for (char letter = 'a'; letter < 'z'; ++letter) many += std::string(3, letter) + "\n";
  EXPECT_EQ(Text(Scrubber(many, ""), "aaa hhh iii"), "… … iii");
}

TEST(Scrubber, CutsBetweenTwoCharacters) {
  const Scrubber scrubber("x", "");
  for (size_t before = 500; before < 520; ++before) {
    const std::string text = std::string(before, 'a') + "äöü€xäöü";
    const std::string cut = Text(scrubber, text);
    EXPECT_LE(cut.size(), ScrubbedText::kMaxBytes);
    const std::string whole = std::string(before, 'a') + "äöü€…äöü";
    ASSERT_TRUE(whole.starts_with(cut)) << cut;
    const char next = cut.size() < whole.size() ? whole[cut.size()] : ' ';
    EXPECT_NE(static_cast<unsigned char>(next) & 0xc0, 0x80);
  }
  EXPECT_EQ(Path(scrubber, std::string(600, 'p')).size(), ScrubbedText::kMaxBytes);
  // No character at all is cut somewhere.
  EXPECT_LE(Text(scrubber, std::string(2000, '\x80')).size(), ScrubbedText::kMaxBytes);
}

}  // namespace
}  // namespace lagwatch::policies
