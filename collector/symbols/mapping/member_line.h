// SPDX-License-Identifier: Apache-2.0
// The lines of a mapping (mapping_reader.h). Context: background; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace lagwatch::collector {

struct LineRange {
  uint64_t first = 0;
  uint64_t last = 0;

  bool Contains(uint64_t line) const { return first <= line && line <= last; }
  bool operator==(const LineRange&) const = default;
};

// A method, or a piece of one.
struct MemberLine {
  std::optional<LineRange> lines;     // of the renamed method
  std::string_view owner;             // the original class, if it is another one
  std::string_view name;              // the original name
  std::optional<LineRange> original;  // lines
  std::string_view renamed;
  bool is_made_up = false;  // by the compiler: it is in no source
};

struct ClassLine {
  std::string_view original;
  std::string_view renamed;
};

// Takes the next line off `text`, without its end and without a carriage return.
std::string_view TakeLine(std::string_view* text);

// `ORIGINAL -> RENAMED:`; none if it is not such a line.
std::optional<ClassLine> ReadClassLine(std::string_view line);

// The methods of a class, in their order; fields and lines that cannot be read are left out.
std::vector<MemberLine> ReadMembers(std::string_view body, std::string_view renamed);

// The file that is named in the comments directly after a class; empty without one.
std::string_view ReadSourceFile(std::string_view body);

}  // namespace lagwatch::collector
