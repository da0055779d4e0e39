// SPDX-License-Identifier: Apache-2.0
// Against ProGuard's own retrace, of a program that it has shrunk, and R8's additions to the format.
#include "collector/symbols/mapping/mapping_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "collector/symbols/mapping/mapping_id.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<MappingReader> OpenMapping(const std::string& path) {
  const base::OwnedFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  auto reader = MappingReader::Open(file.get());
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  return reader.ok() ? std::move(*reader) : nullptr;
}

std::unique_ptr<MappingReader> ReadMapping(const std::string& text) {
  testing::ScopedTempDirectory directory;
  std::ofstream(directory / "mapping.txt") << text;
  return OpenMapping(directory / "mapping.txt");
}

std::string ErrorOf(const std::string& text) {
  testing::ScopedTempDirectory directory;
  std::ofstream(directory / "mapping.txt") << text;
  const base::OwnedFd file(open((directory / "mapping.txt").c_str(), O_RDONLY | O_CLOEXEC));
  return MappingReader::Open(file.get()).status().message();
}

// "org.shop.Cart.total:17", innermost first.
std::vector<std::string> FramesOf(const MappingReader& reader, std::string_view function, uint64_t line) {
  std::vector<std::string> frames;
  for (const NamedFrame& frame : reader.FramesAt(function, line))
    frames.push_back(frame.function + ":" + std::to_string(frame.line));
  return frames;
}

// A line "\tat NAME(FILE:LINE)" of a trace; the others are as they are.
std::optional<std::pair<std::string, uint64_t>> ReadTraceLine(const std::string& line) {
  if (!line.starts_with("\tat ")) return std::nullopt;
  return std::pair(line.substr(4, line.find('(') - 4), std::stoull(line.substr(line.rfind(':') + 1)));
}

std::vector<std::string> ReadLines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST(MappingReader, NamesFramesAsProGuardDoes) {
  const std::string data = LAGWATCH_MAPPING_DATA;
  const auto reader = OpenMapping(data + "/mapping.txt");
  std::vector<std::string> frames;
  for (const std::string& line : ReadLines(data + "/trace.txt")) {
    const auto place = ReadTraceLine(line);
    if (!place) frames.push_back(line);
    if (!place) continue;
    for (const std::string& frame : FramesOf(*reader, place->first, place->second)) frames.push_back(frame);
  }
  std::vector<std::string> expected;
  for (const std::string& line : ReadLines(data + "/retraced.txt")) {
    const auto place = ReadTraceLine(line);
    expected.push_back(place ? place->first + ":" + std::to_string(place->second) : line);
  }
  EXPECT_GT(expected.size(), 30u);
  EXPECT_EQ(frames, expected);
}

TEST(MappingReader, KnowsWhichFramesAreInlined) {
  const auto reader = ReadMapping(
      "org.shop.Cart -> a.b:\n"
      "# {\"id\":\"sourceFile\",\"fileName\":\"Carts.kt\"}\n"
      "    1:4:int total():40:43 -> a\n"
      "    5:5:void org.shop.Tax.add(int):7:7 -> a\n"
      "    5:5:int total():44 -> a\n"
      "org.shop.Tax -> a.c:\n");
  EXPECT_THAT(reader->FramesAt("a.b.a", 3),
              ElementsAre(NamedFrame{"org.shop.Cart.total", "Carts.kt", 42, false}));
  EXPECT_THAT(reader->FramesAt("a.b.a", 5),
              ElementsAre(NamedFrame{"org.shop.Tax.add", "", 7, true},
                          NamedFrame{"org.shop.Cart.total", "Carts.kt", 44, false}));
  EXPECT_THAT(FramesOf(*reader, "a.b.a(int)", 2), ElementsAre("org.shop.Cart.total:41"));
}

TEST(MappingReader, TellsOverloadsApartByTheirLines) {
  const auto reader = ReadMapping(
      "org.shop.Cart -> a.b:\n"
      "    java.util.List a -> a\n"
      "    1:2:void load():10:11 -> a\n"
      "    3:3:void save(int):20:20 -> a\n"
      "    void open() -> b\n"
      "    void close(int) -> b\n"
      "    0:65535:void draw():33:33 -> c\n"
      "    0:0:void org.shop.Tax.add():5:5 -> d\n"
      "    0:0:void pay():50:50 -> d\n"
      "    7:7:void pay():51:51 -> d\n"
      "    7:3:void turn():60:60 -> e\n");
  EXPECT_THAT(FramesOf(*reader, "a.b.a", 2), ElementsAre("org.shop.Cart.load:11"));
  EXPECT_THAT(FramesOf(*reader, "a.b.a", 3), ElementsAre("org.shop.Cart.save:20"));
  EXPECT_THAT(FramesOf(*reader, "a.b.a", 0), ElementsAre("org.shop.Cart.load|save:0"));
  EXPECT_THAT(FramesOf(*reader, "a.b.a", 99), ElementsAre("org.shop.Cart.a:99"));  // of no piece
  EXPECT_THAT(FramesOf(*reader, "a.b.b", 7), ElementsAre("org.shop.Cart.open|close:7"));
  EXPECT_THAT(FramesOf(*reader, "a.b.c", 900), ElementsAre("org.shop.Cart.draw:33"));
  EXPECT_THAT(FramesOf(*reader, "a.b.d", 0), ElementsAre("org.shop.Tax.add:5", "org.shop.Cart.pay:50"));
  EXPECT_THAT(FramesOf(*reader, "a.b.d", 7), ElementsAre("org.shop.Cart.pay:51"));
  EXPECT_THAT(FramesOf(*reader, "a.b.e", 5), ElementsAre("org.shop.Cart.turn:60"));
  EXPECT_THAT(FramesOf(*reader, "a.b.toString", 8), ElementsAre("org.shop.Cart.toString:8"));
  EXPECT_THAT(FramesOf(*reader, "a.z.a", 1), IsEmpty());
  EXPECT_THAT(FramesOf(*reader, "a", 1), IsEmpty());
}

TEST(MappingReader, LeavesOutFramesThatTheCompilerMadeUp) {
  const auto reader = ReadMapping(
      "# compiler: R8\n"
      "# pg_map_id: 0123abcd\n"
      "# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\n"
      "org.shop.Main$$ExternalSyntheticLambda0 -> a.a:\n"
      "# {\"id\":\"com.android.tools.r8.synthesized\"}\n"
      "    4:4:void org.shop.Main.lambda$open$0():225 -> run\n"
      "    4:4:void run():2 -> run\n"
      "      # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
      "    void call() -> call\n"
      "      # {\"id\":\"com.android.tools.r8.synthesized\"}\n"
      "org.shop.Main$$Outline0 -> a.c:\r\n"
      "    1:2:int outline() -> a\r\n"
      "      # {\"id\":\"com.android.tools.r8.outline\"}\r\n");
  EXPECT_EQ(reader->map_id(), "0123abcd");
  EXPECT_THAT(FramesOf(*reader, "a.a.run", 4), ElementsAre("org.shop.Main.lambda$open$0:225"));
  EXPECT_THAT(reader->FramesAt("a.a.call", 1), ElementsAre(NamedFrame{}));
  EXPECT_THAT(reader->FramesAt("a.c.a", 1), ElementsAre(NamedFrame{}));
}

TEST(MappingReader, RefusesOtherTexts) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("is empty"));
  EXPECT_THAT(ErrorOf("# pg_map_id: 1\n"), HasSubstr("names no class"));
  EXPECT_THAT(ErrorOf("a.B -> a:\n    void a() -> a\n<html>\n"), HasSubstr("line 3 is not of a mapping"));
  EXPECT_THAT(ErrorOf("-keep class a\n"), HasSubstr("line 1"));
  EXPECT_THAT(ErrorOf(std::string(1000, '\0')), HasSubstr("line 1"));
}

TEST(MappingReader, EndsWellOnDamagedMappings) {
  const std::vector<std::string> lines = ReadLines(std::string(LAGWATCH_MAPPING_DATA) + "/mapping.txt");
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>("\0:(.>9 \n"[at % 8]);
    testing::ScopedTempDirectory directory;
    std::ofstream(directory / "mapping.txt") << damaged;
    const base::OwnedFd file(open((directory / "mapping.txt").c_str(), O_RDONLY | O_CLOEXEC));
    const auto reader = MappingReader::Open(file.get());
    if (!reader.ok()) continue;
    for (const char* function : {"a.a", "org.shop.Main.main", "b.next"})
      for (const uint64_t line : {0, 17, 1022, 2023}) (*reader)->FramesAt(function, line);
  }
}

report::Report JavaReport(std::vector<std::string> names) {
  report::Report report;
  report.app = "org.shop";
  report.app_version = "1.2";
  report.modules = {{"[java]", "", 0}};
  report.stacks = {{}};
  for (std::string& name : names) {
    const uint64_t function = 0x1000'0000 * (report.symbols.size() + 1);
    report.symbols.push_back({0, function, std::move(name)});
    report.stacks[0].frames.push_back({0, function + 7, function});
  }
  return report;
}

TEST(MappingId, IsOfTheAppOrOfR8) {
  const std::string of_app = MappingIdOfApp("org.shop", "1.2");
  EXPECT_NE(of_app, MappingIdOfApp("org.sho", "p1.2"));
  EXPECT_TRUE(IsMappingId(of_app));
  EXPECT_FALSE(IsMappingIdOfMapId(of_app));
  EXPECT_FALSE(IsMappingId(std::string(20, 'x')));
  EXPECT_THAT(MappingIdsOf(JavaReport({"a.b.c (r8-map-id-77aa)", "d.e (Main.java)"})),
              ElementsAre(MappingIdOfMapId("77aa"), of_app));
  EXPECT_THAT(MappingIdsOf(report::Report()), IsEmpty());
}

TEST(MappingId, IsWantedForRenamedFrames) {
  const std::string of_app = MappingIdOfApp("org.shop", "1.2");
  for (const char* renamed : {"a.b.load (SourceFile)", "org.shop.Cart.load", "org.shop.Cart.a (Cart.java)",
                              "org.shop.b.load (Cart.kt)"}) {
    EXPECT_THAT(WantedMappingIdsOf(JavaReport({"java.lang.Thread.run (Thread.java)", renamed})),
                ElementsAre(of_app))
        << renamed;
  }
  EXPECT_THAT(WantedMappingIdsOf(JavaReport({"org.shop.Cart.load (Cart.java)"})), IsEmpty());
}

}  // namespace
}  // namespace lagwatch::collector
