// SPDX-License-Identifier: Apache-2.0
// Programs of interpreters that freeze themselves and print the stack that the interpreter itself sees there.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {

class ScriptTest : public RunTest {
 protected:
  using Frames = std::vector<std::string>;

  // "NAME (FILE):LINE" of the frames in a report's stack that are of `language`, "[lua]" for example.
  static Frames ScriptFramesOf(const json& stack, const std::string& language) {
    Frames frames;
    for (const json& frame : stack) {
      if (frame.at("module") != language) continue;
      // V8's built-in functions have no lines.
      const json line = frame.value("line", json(0));
      frames.push_back(frame.at("function").get<std::string>() + ":" + (line.is_null() ? "0" : line.dump()));
    }
    return frames;
  }
  // Of all reports.
  std::vector<Frames> FoundFrames(const std::string& language) const {
    std::vector<Frames> found;
    for (const json& header : Ask({"reports"}))
      found.push_back(ScriptFramesOf(Ask({"report", header.at("id")}).at("expensive_stack"), language));
    return found;
  }
  // Whether a stack is the expected one; its innermost function may have called further ones.
  static bool EndsAs(const Frames& frames, const Frames& expected) {
    return frames.size() >= expected.size() &&
           std::equal(expected.rbegin(), expected.rend(), frames.rbegin());
  }

  // Runs such a program and looks for what it prints in the reports.
  void ExpectTheStackThatItPrints(const std::vector<std::string>& command, const std::string& language) {
    Process program(Watched(command));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    Frames expected;
    std::istringstream output(program.Output());
    for (std::string line; std::getline(output, line);) expected.push_back(line);
    ASSERT_GE(expected.size(), 3u);
    // On a busy machine there may be a hang before that one.
    const std::vector<Frames> found = FoundFrames(language);
    EXPECT_TRUE(std::ranges::any_of(found, [&](const Frames& frames) { return EndsAs(frames, expected); }))
        << "expected " << json(expected).dump() << "\nfound " << json(found).dump();
  }
};

}  // namespace lagwatch::tools
