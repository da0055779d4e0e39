// SPDX-License-Identifier: Apache-2.0
// Questions that cannot be asked: each is refused with what helps, and leaves the program untouched.
#include <unistd.h>

#include <csignal>

#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

struct Refused {
  const char* script;
  const char* reason;
};

TEST_F(ProbeTest, RefusesWithWhatHelpsAndTouchesNothing) {
  const Refused rows[] = {
      {"add_nubers { count }", "did you mean 'add_numbers'?"},
      {"nosuch!foo { count }", "has not loaded a file named 'nosuch'"},
      {"add_numbers { print(c) }", "1:21: unknown value \"c\": did you mean a or b?"},
      {"add_numbers { print(a }", "1:"},
      {"memcpy { count }", "chooses the code of 'memcpy'"},
      {"java java.util.HashMap::put { count }", "is no JVM"},
  };
  for (const Refused& row : rows) {
    EXPECT_EQ(Ask({pid(), row.script}), 2) << row.script;
    EXPECT_THAT(errors_, HasSubstr(row.reason));
  }
  const std::string maps = "/proc/" + pid() + "/maps";
  EXPECT_EQ(Ask({"no-such-program", "f { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no process is 'no-such-program'"));
  // The library is loaded for a script that is right only.
  Process grep({"/bin/grep", "-c", "liblagwatch", maps});
  EXPECT_EQ(grep.Wait(), 1);
  EXPECT_EQ(grep.Output(), "0\n");
}

TEST_F(ProbeTest, ListsFunctionsWithTheWayOrTheReason) {
  ASSERT_EQ(Ask({pid(), "--functions", "probed_program!*"}), 0) << errors_;
  EXPECT_THAT(output_, ::testing::ContainsRegex("probed_program!add_numbers +[a-z]"));
  EXPECT_THAT(output_, ::testing::ContainsRegex("probed_program!_init +no: "));
}

TEST_F(ProbeTest, OffersToWatchAStaticProgram) {
  Process program({LAGWATCH_STATIC_PROGRAM, "60"});
  usleep(50'000);
  EXPECT_EQ(Ask({std::to_string(program.pid()), "main { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("lagwatch watch"));
  program.Signal(SIGKILL);
  EXPECT_EQ(program.Wait(), -SIGKILL);
}

}  // namespace
}  // namespace lagwatch::tools
