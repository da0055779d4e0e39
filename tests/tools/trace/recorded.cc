// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/trace/recorded.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "trace/format/trace_codec.h"
#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::testing {

std::vector<std::string> TraceDirectory::RecordCommand(const std::vector<std::string>& flags,
                                                       const std::vector<std::string>& command) const {
  std::vector<std::string> all = {LAGWATCH_PROGRAM, "trace", "record", "-o", file()};
  all.insert(all.end(), flags.begin(), flags.end());
  all.push_back("--");
  all.insert(all.end(), command.begin(), command.end());
  return all;
}

std::vector<std::string> TraceDirectory::AttachCommand(const std::vector<std::string>& flags,
                                                       pid_t pid) const {
  std::vector<std::string> all = {LAGWATCH_PROGRAM, "trace", "record",           "-o",
                                  file(),           "--pid", std::to_string(pid)};
  all.insert(all.end(), flags.begin(), flags.end());
  return all;
}

trace::Trace TraceDirectory::Read() const {
  std::ostringstream bytes;
  bytes << std::ifstream(file(), std::ios::binary).rdbuf();
  auto unpacked = trace::UnpackTrace(bytes.str());
  EXPECT_TRUE(unpacked.ok()) << unpacked.status().message();
  return unpacked.ok() ? std::move(unpacked).value() : trace::Trace();
}

std::map<std::string, int64_t> TotalsByName(const trace::Trace& trace) {
  std::map<std::string, int64_t> totals_ns;
  for (const trace::FunctionTime& time : trace::FindFunctionTimes(trace))
    totals_ns[trace::DisplayName(trace, trace.frames[time.frame])] += time.total_ns;
  return totals_ns;
}

std::string LossesOf(const trace::Trace& trace) {
  std::string text;
  for (const trace::Loss& loss : trace.losses) text += std::to_string(loss.count) + " " + loss.what + "\n";
  return text;
}

bool HasRecorder(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& entry : std::filesystem::directory_iterator(tasks)) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name == "lagwatch-trace") return true;
  }
  return false;
}

}  // namespace lagwatch::testing
