// SPDX-License-Identifier: Apache-2.0
// The parts of a text that lists of reports, single reports and `lagwatch why` have in common. Context:
// background; pure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// At most 63 characters of printf's output.
template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[64];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

inline std::string Text(const Json& object, const char* key) { return object.at(key).get<std::string>(); }

enum class StackStyle {
  kPlain,
  kMarked,  // the line of the innermost function of the program's own begins with "> "
  kFolded,  // likewise, and several frames of libraries and the system in a row are one line
};

bool IsDump(const Json& report);
// Whether the report is about the process's use of CPU: no loop hangs, and nothing has lasted.
bool IsOfCpu(const Json& report);
// Whether the report is about a dispatch that was slow, but no hang.
bool IsSlow(const Json& report);
// A hang whose end is not known lasted at least as long as it was seen; so did one that ended with its
// process.
std::string Duration(const Json& report);
// "crash-in-hang, signal 11"; empty while that is not known, and from older collectors.
std::string ExitText(const Json& report);
// The report's chain of waits, with the candidates for the last one and the deadlock; empty without any.
std::string WaitLines(const Json& report);
// A line for each frame: the function and its place. `completeness` as in the report.
std::string StackLines(const Json& stack, const std::string& completeness, const std::string& indent,
                       StackStyle style = StackStyle::kPlain);
// The samples' functions, the outermost first: "  93 %   1.9 s  Parse". A function that is all of its caller
// is in the same column. Empty unless samples differ.
std::string FlameLines(const Json& report, StackStyle style);
// Of a report or a cause: "93 % in plugin.so, 7 % in editor"; empty where all is the program's own file, and
// from older collectors.
std::string PackageText(const Json& report);
// "lock (lock 97 %, cpu 2 %)": the largest parts of the time. "cpu, starved (no cpu 98 %, cpu 2 %)": of a
// thread that got no processor, with what it would have done.
std::string VerdictText(const Json& verdict, const Json& facts);
// All facts, with a title; empty without any. The second one has only those that are out of the ordinary: a
// limit that is near, pressure, swapped memory.
std::string FactLines(const Json& facts);
std::string PressingFactLines(const Json& facts);
// Makes all lines printable. Control characters that are no ends of lines come from the report.
std::string PrintableLines(const std::string& lines);

// "futex"; "syscall 424" where the name is not known. `machine` as uname(2) spells it: numbers differ.
std::string SyscallName(uint64_t number, std::string_view machine);

}  // namespace lagwatch::tools
