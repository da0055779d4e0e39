// SPDX-License-Identifier: Apache-2.0
// `lagwatch instrument` and other commands under rules, and their answers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/trace/recorded.h"

namespace lagwatch::tools {

using ::testing::HasSubstr;
using testing::Process;

class InstrumentTest : public ::testing::Test {
 protected:
  // Runs `lagwatch`; its exit code.
  int Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LAGWATCH_PROGRAM);
    Process process(arguments);
    const int code = process.Wait();
    output_ = process.Output();
    errors_ = process.Errors();
    return code;
  }
  std::string Rules(const std::string& text) {
    std::string file = directory_ / "some.rules";
    std::ofstream(file) << text;
    return file;
  }
  // The functions of `lagwatch instrument list --json`, by name.
  std::map<std::string, nlohmann::json> List(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"instrument", "list", "--json"});
    EXPECT_EQ(Run(arguments), 0) << errors_;
    answer_ = nlohmann::json::parse(output_, nullptr, /*allow_exceptions=*/false);
    std::map<std::string, nlohmann::json> functions;
    if (!answer_.is_object()) return functions;
    for (const auto& function : answer_["functions"]) functions[function["name"]] = function;
    return functions;
  }
  // The calls that a recording has, by function.
  std::map<std::string, size_t> CallsOf(const std::vector<std::string>& flags,
                                        const std::vector<std::string>& command) {
    Process recorder(directory_.RecordCommand(flags, command));
    EXPECT_EQ(recorder.Wait(), 0) << recorder.Errors();
    errors_ = recorder.Errors();
    const trace::Trace trace = directory_.Read();
    std::map<std::string, size_t> calls;
    for (const trace::Thread& thread : trace.threads)
      for (const trace::CallEvent& event : thread.calls)
        if (event.is_enter) ++calls[trace.frames[event.frame].name];
    return calls;
  }

  testing::TraceDirectory directory_;
  nlohmann::json answer_;
  std::string output_;
  std::string errors_;
};

}  // namespace lagwatch::tools
