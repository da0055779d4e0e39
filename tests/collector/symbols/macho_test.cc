// SPDX-License-Identifier: Apache-2.0
// A dSYM file (macho/subject.c) against llvm-symbolizer's answers.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/owned_fd.h"
#include "base/text.h"
#include "collector/symbols/elf/elf_facts.h"
#include "collector/symbols/elf/module_symbols.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kSubject[] = LAGWATCH_MACHO_DATA "/subject.dSYM";
constexpr uint64_t kBegin = 0x1'0000'0000;
constexpr uint64_t kOpenDocument = kBegin + 0x510;
constexpr uint64_t kTotal = kBegin + 0x540;

base::OwnedFd Open(const std::string& path) {
  return base::OwnedFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// "AddAll /src/subject.c:10", innermost first; inlined ones in brackets.
std::vector<std::string> FramesAt(ModuleSymbols* symbols, uint64_t offset) {
  std::vector<std::string> frames;
  for (const NamedFrame& frame : symbols->FramesAt(offset)) {
    std::string text = frame.function;
    if (!frame.file.empty()) text += " " + frame.file + ":" + std::to_string(frame.line);
    frames.push_back(frame.is_inlined ? "[" + text + "]" : text);
  }
  return frames;
}

TEST(MachO, HasTheFactsOfAnElfFile) {
  const base::OwnedFd file = Open(kSubject);
  const auto facts = ReadElfFacts(file.get());
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  EXPECT_EQ(base::ToHex(facts->build_id), "4c4c440955553144a180c6ea29601c13");
  EXPECT_TRUE(facts->has_dwarf);
  EXPECT_TRUE(facts->has_symbols);
  EXPECT_FALSE(facts->has_code);
}

TEST(MachO, KnowsAProgramFromItsDebugFile) {
  std::string bytes = Content(kSubject);
  bytes[12] = 2;  // the type of file
  testing::ScopedTempDirectory directory;
  std::ofstream(directory / "subject", std::ios::binary) << bytes;
  EXPECT_TRUE(ReadElfFacts(Open(directory / "subject").get())->has_code);
}

TEST(MachO, NamesFunctionsInlinedOnesAndLines) {
  const base::OwnedFd file = Open(kSubject);
  const int fd = file.get();
  const auto symbols = ModuleSymbols::Open(std::span(&fd, 1), -1);
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  EXPECT_THAT(FramesAt(symbols->get(), kTotal + 4),
              ElementsAre("[AddAll /src/subject.c:10]", "Total /src/subject.c:14"));
  EXPECT_THAT(FramesAt(symbols->get(), kOpenDocument + 20), ElementsAre("OpenDocument /src/subject.c:16"));
  // Relative to the file's begin, as where its own addresses are not known.
  EXPECT_THAT(FramesAt(symbols->get(), kOpenDocument + 20 - kBegin),
              ElementsAre("OpenDocument /src/subject.c:16"));
  EXPECT_THAT(FramesAt(symbols->get(), kBegin + 4), IsEmpty());
  EXPECT_THAT(FramesAt(symbols->get(), kTotal + 0x10000), IsEmpty());
}

TEST(MachO, NamesFunctionsBySymbolsAlone) {
  std::string bytes = Content(kSubject);
  for (size_t at = 0; (at = bytes.find("__debug_", at)) != std::string::npos;)
    bytes.replace(at, 8, "__other_");
  testing::ScopedTempDirectory directory;
  std::ofstream(directory / "subject", std::ios::binary) << bytes;
  const base::OwnedFd file = Open(directory / "subject");
  const int fd = file.get();
  const auto symbols = ModuleSymbols::Open(std::span(&fd, 1), -1);
  ASSERT_TRUE(symbols.ok()) << symbols.status().message();
  EXPECT_THAT(FramesAt(symbols->get(), kTotal + 4), ElementsAre("Total"));
  EXPECT_THAT(FramesAt(symbols->get(), kOpenDocument + 4), ElementsAre("OpenDocument"));
}

TEST(MachO, SaysWhatIsWrongWithAFile) {
  testing::ScopedTempDirectory directory;
  const auto error_of = [&](const std::string& bytes) {
    std::ofstream(directory / "subject", std::ios::binary) << bytes;
    return ReadElfFacts(Open(directory / "subject").get()).status().message();
  };
  EXPECT_THAT(error_of(std::string("\xca\xfe\xba\xbe", 4) + std::string(100, '\0')), HasSubstr("lipo"));
  EXPECT_THAT(error_of(Content(kSubject).substr(0, 100)), HasSubstr("damaged"));
  EXPECT_THAT(error_of(std::string("\xcf\xfa\xed\xfe", 4) + std::string(100, '\1')),
              HasSubstr("unknown processor"));
}

TEST(MachO, EndsWellOnDamagedFiles) {
  const std::string whole = Content(kSubject);
  testing::ScopedTempDirectory directory;
  for (size_t at = 4; at < 2200; at += 3) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(at % 2 == 0 ? 0xff : 0x80);
    std::ofstream(directory / "subject", std::ios::binary) << bytes;
    const base::OwnedFd file = Open(directory / "subject");
    const int fd = file.get();
    const auto symbols = ModuleSymbols::Open(std::span(&fd, 1), -1);
    if (!symbols.ok()) continue;
    for (const uint64_t offset : {kTotal + 4, kOpenDocument, uint64_t{0}}) (*symbols)->FramesAt(offset);
  }
}

}  // namespace
}  // namespace lagwatch::collector
