// SPDX-License-Identifier: Apache-2.0
// The program whose symbols the tests ask for.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace lagwatch::collector {

constexpr char kProgram[] = LAGWATCH_SYMBOLS_SUBJECT;  // with everything
constexpr char kDebugFile[] = LAGWATCH_SYMBOLS_SUBJECT ".debug";
constexpr char kStrippedFile[] = LAGWATCH_SYMBOLS_SUBJECT ".stripped";

inline std::string ContentOf(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace lagwatch::collector
