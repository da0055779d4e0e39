// SPDX-License-Identifier: Apache-2.0
// Programs that `lagwatch probe` asks, and its answers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/testing/process.h"

namespace lagwatch::tools {

using ::testing::HasSubstr;
using testing::Process;
using testing::WaitUntil;

class ProbeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    program_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_PROBED_PROGRAM});
    ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; }));
  }
  // Has the program do something, and waits until it is done.
  void Do(const std::string& line) {
    const size_t before = Count(program_->Output(), "done\n");
    program_->WriteInput(line + "\n");
    ASSERT_TRUE(WaitUntil([&] { return Count(program_->Output(), "done\n") == before + 1; })) << line;
  }
  std::string Code() {
    const std::string before = program_->Output();
    Do("code");
    return program_->Output().substr(before.size());
  }
  std::string pid() const { return std::to_string(program_->pid()); }

  static std::unique_ptr<Process> Start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {LAGWATCH_PROGRAM, "probe"});
    return std::make_unique<Process>(arguments);
  }
  // The exit code of a command that ends by itself.
  int Ask(std::vector<std::string> arguments) {
    const auto process = Start(std::move(arguments));
    const int code = process->Wait();
    output_ = process->Output();
    errors_ = process->Errors();
    return code;
  }
  static bool IsArmed(const Process& console) {
    return console.Errors().find("armed at") != std::string::npos;
  }
  // Arms the script, has the program do it, and returns what the console has printed by its end.
  std::string Probe(const std::string& script, const std::string& what, std::vector<std::string> flags = {}) {
    std::vector<std::string> arguments{pid(), script};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const auto console = Start(arguments);
    EXPECT_TRUE(WaitUntil([&] { return IsArmed(*console) || console->Errors().find("lagwatch: ") == 0; }));
    EXPECT_TRUE(IsArmed(*console)) << console->Errors();
    Do(what);
    console->Signal(SIGINT);
    EXPECT_EQ(console->Wait(), 0) << console->Errors();
    errors_ = console->Errors();
    return console->Output();
  }
  static size_t Count(const std::string& text, const std::string& part) {
    size_t count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
  // The lines' fields behind time and thread.
  static std::vector<std::string> Records(const std::string& output) {
    std::vector<std::string> records;
    std::istringstream lines(output);
    for (std::string line, time, tid, rest; std::getline(lines, line);) {
      std::istringstream fields(line);
      fields >> time >> tid;
      std::string record;
      for (std::string field; fields >> field;) record += (record.empty() ? "" : " ") + field;
      records.push_back(record);
    }
    return records;
  }

  std::unique_ptr<Process> program_;
  std::string output_;
  std::string errors_;
};

}  // namespace lagwatch::tools
