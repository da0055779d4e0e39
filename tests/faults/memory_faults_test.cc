// SPDX-License-Identifier: Apache-2.0
// Memory and threads that are refused to lagwatch, one request or all from one on: the program ends
// as without it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {
namespace {

struct Subject {
  std::vector<std::string> command;
  int exit_code;
  bool is_runtime_meant;  // its C++ runtime's requests are lagwatch's
};

std::vector<std::string> PlanOf(const Subject& subject, long from, int count) {
  return {"LD_PRELOAD=" LAGWATCH_FAILING_CALLS, "FAIL_FROM=" + std::to_string(from),
          "FAIL_COUNT=" + std::to_string(count), "FAIL_TOLD=2",
          std::string("FAIL_RUNTIME=") + (subject.is_runtime_meant ? "1" : "0")};
}

// The last number that was printed: that of `lagwatch run` itself comes first.
long LastNumber(const std::string& text) {
  const size_t end = text.find_last_of('\n');
  const size_t begin = end == std::string::npos || end == 0 ? 0 : text.find_last_of('\n', end - 1) + 1;
  return std::stol(text.substr(begin));
}

void CheckAll(const Subject& subject, int tries) {
  for (const int count : {1, 0}) {
    Process plain(subject.command, PlanOf(subject, 0, count));
    ASSERT_EQ(plain.Wait(), subject.exit_code) << plain.Errors();
    const long requests = LastNumber(plain.Errors());
    ASSERT_GT(requests, 100);
    for (int i = 0; i < tries; ++i) {
      const long from = 1 + i * requests / tries;
      Process starved(subject.command, PlanOf(subject, from, count));
      EXPECT_EQ(starved.Wait(), subject.exit_code) << "request " << from << " of " << requests << ", "
                                                   << (count == 0 ? "and all that follow" : "alone") << "\n"
                                                   << starved.Errors();
      EXPECT_EQ(starved.Output(), "good\n") << from;
    }
  }
}

TEST(MemoryFaults, EndNoProgramThatIsRunUnderLagwatch) {
  const ScopedTempDirectory directory;
  CheckAll({{LAGWATCH_PROGRAM, "run", "--threshold-ms", "20", "--spool", directory / "spool", "--",
             LAGWATCH_WAIT_LOOP, "poll", "60"},
            0,
            false},
           20);
}

TEST(MemoryFaults, EndNoProgramThatIsRecordedUnderLagwatch) {
  const ScopedTempDirectory directory;
  CheckAll({{LAGWATCH_PROGRAM, "run", "--trace", "--trace-hooks", "--threshold-ms", "20", "--spool",
             directory / "spool", "--", LAGWATCH_WAIT_LOOP, "poll", "60"},
            0,
            false},
           10);
}

TEST(MemoryFaults, EndNoProgramThatLinksTheLibrary) {
  const ScopedTempDirectory directory;
  CheckAll({{LAGWATCH_STARVED, directory / "spool"}, 3, true}, 20);
}

}  // namespace
}  // namespace lagwatch::testing
