// SPDX-License-Identifier: Apache-2.0
// A Swing program that hangs, and its reports.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {

using nlohmann::json;

class JvmAgentTest : public ::testing::Test {
 protected:
  static constexpr char kVirtualScreen[] = "/usr/bin/xvfb-run";

  // Whether there are a virtual screen and Swing's part for it, which a headless JDK lacks.
  static bool HasScreen() {
    const std::filesystem::path home = std::filesystem::canonical(LAGWATCH_JAVA).parent_path().parent_path();
    return std::filesystem::exists(kVirtualScreen) && std::filesystem::exists(home / "lib/libawt_xawt.so");
  }
  json Ask(std::vector<std::string> question) const {
    question.insert(question.begin(), LAGWATCH_PROGRAM);
    question.insert(question.end(), {"--spool", spool_, "--json"});
    Process process(question);
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    return json::parse(process.Output(), nullptr, false);
  }
  std::vector<std::string> Agent(const std::string& options = "") const {
    return {LAGWATCH_JAVA,
            "-agentpath:" LAGWATCH_AGENT "=threshold_ms=500,check_period_ms=200,spool_directory=" + spool_ +
                options};
  }
  // Runs the Swing program under this JVM; returns what it wrote on stderr.
  static std::string RunSwing(std::vector<std::string> command, const std::string& kind) {
    command.insert(command.begin(), {kVirtualScreen, "-a"});
    command.insert(command.end(), {"-cp", LAGWATCH_JVM_CLASSES, "SwingProgram", kind});
    Process program(command);
    EXPECT_EQ(program.Wait(), 0) << program.Errors();
    return program.Errors();
  }
  // A report of a hang whose stack has `function`; null without one. A busy machine has others: Swing's
  // start.
  json HangIn(const std::string& function) const {
    for (const json& line : Ask({"reports"})) {
      json report = Ask({"report", line["id"]});
      if (report["kind"] == "lag" && FramesOf(report).find(function) != std::string::npos) return report;
    }
    return nullptr;
  }
  // "FUNCTION:LINE < …", of the most expensive stack.
  static std::string FramesOf(const json& report) {
    std::string text;
    for (const json& frame : report["expensive_stack"]) {
      if (frame.contains("function") && frame["function"].is_string())
        text += frame["function"].get<std::string>();
      if (frame.contains("line") && frame["line"].is_number())
        text += ":" + std::to_string(frame["line"].get<int>());
      text += " < ";
    }
    return text;
  }
  // ":LINE" of the first line of the Swing program that holds `text`.
  static std::string LineOf(const std::string& text) {
    std::ifstream file(LAGWATCH_JVM_SOURCES "/SwingProgram.java");
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      if (line.find(text) != line.npos) return ":" + std::to_string(number);
    }
    return ":none";
  }
  json HangOf(const std::string& kind) {
    if (!HasScreen()) return nullptr;
    EXPECT_EQ(RunSwing(Agent(), kind), "");
    json report = HangIn("SwingProgram.importOrders");
    EXPECT_FALSE(report.is_null()) << kind;
    return report;
  }

  ScopedTempDirectory directory_;
  std::string spool_ = directory_ / "spool";
};

}  // namespace lagwatch::testing
