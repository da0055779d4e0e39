// SPDX-License-Identifier: Apache-2.0
// Attaches to programs that run already, as tests need it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {

inline std::string Contents(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline size_t EntriesIn(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

class AttachRunningTest : public RunTest {
 protected:
  int Do(const std::string& command, pid_t pid, std::vector<std::string> flags = {}) {
    std::vector<std::string> all = {LAGWATCH_PROGRAM, command, std::to_string(pid)};
    if (command == "attach") all.insert(all.end(), {"--threshold-ms", "200", "--spool", spool_});
    all.insert(all.end(), flags.begin(), flags.end());
    Process process(all);
    const int code = process.Wait();
    output_ = process.Output();
    errors_ = process.Errors();
    return code;
  }
  static bool IsReady(const Process& process) {
    return testing::WaitUntil([&] { return process.Output().starts_with("ready\n"); });
  }
  // Returns once the program is back in its loop.
  static void Freeze(Process* process) {
    const std::string before = process->Output();
    process->WriteInput("freeze\n");
    ASSERT_TRUE(testing::WaitUntil([&] { return process->Output() == before + "froze\n"; }));
    usleep(100'000);
  }
  size_t Reports() const { return std::filesystem::exists(spool_) ? Ask({"reports"}).size() : 0; }

  std::string output_;
  std::string errors_;
};

}  // namespace lagwatch::tools
