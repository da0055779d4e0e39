// SPDX-License-Identifier: Apache-2.0
// Looks up places in a file with binutils' addr2line, which shares no code with elfutils.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "collector/symbols/elf/named_frame.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {

inline std::string OutputOf(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char piece[65536];
  while (size_t got = fread(piece, 1, sizeof piece, pipe)) output.append(piece, got);
  pclose(pipe);
  return output;
}

// "/a/./b/../c.cc" is "/a/c.cc".
inline std::string NormalPath(const std::string& path) {
  return std::filesystem::path(path).lexically_normal().string();
}

inline collector::NamedFrame ParsedFrame(const std::string& function, std::string place) {
  collector::NamedFrame frame;
  if (function != "??") frame.function = function;
  place = place.substr(0, place.find(" (discriminator"));
  size_t colon = place.rfind(':');
  if (place.substr(0, colon) != "??") frame.file = NormalPath(place.substr(0, colon));
  frame.line = static_cast<uint32_t>(std::atoi(place.c_str() + colon + 1));
  return frame;
}

// For each of `offsets` its frames, innermost first; a place of which nothing is known has one empty frame.
inline std::vector<std::vector<collector::NamedFrame>> FramesByAddr2line(const std::string& path,
                                                                         std::span<const uint64_t> offsets) {
  ScopedTempDirectory directory;
  {
    std::ofstream input(directory / "offsets");
    for (uint64_t offset : offsets) input << std::hex << "0x" << offset << "\n";
  }
  std::istringstream lines(OutputOf("addr2line -a -i -f -e '" + path + "' <" + directory / "offsets"));
  std::vector<std::vector<collector::NamedFrame>> all;
  std::string line;
  std::string place;
  while (std::getline(lines, line)) {
    if (line.starts_with("0x")) {
      all.emplace_back();
    } else if (std::getline(lines, place)) {
      all.back().push_back(ParsedFrame(line, place));
    }
  }
  for (auto& frames : all) {
    for (size_t i = 0; i + 1 < frames.size(); ++i) frames[i].is_inlined = true;
  }
  return all;
}

}  // namespace lagwatch::testing
