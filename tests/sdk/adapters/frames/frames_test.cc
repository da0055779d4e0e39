// SPDX-License-Identifier: Apache-2.0
// The window of numbers in real programs: of every ten frames one takes 60 ms, which is three refreshes.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch {
namespace {

struct Numbers {
  double per_second = 0, median_ms = 0, p95_ms = 0;
  unsigned dropped = 0, best = 0, normal = 0, middle = 0, high = 0, frozen = 0;
};

Numbers Parse(const std::string& text) {
  Numbers numbers;
  EXPECT_EQ(std::sscanf(text.c_str(), "%lf fps p50 %lf ms p95 %lf ms dropped %u levels %u %u %u %u %u",
                        &numbers.per_second, &numbers.median_ms, &numbers.p95_ms, &numbers.dropped,
                        &numbers.best, &numbers.normal, &numbers.middle, &numbers.high, &numbers.frozen),
            9)
      << text;
  return numbers;
}

std::string OutputOf(std::vector<std::string> command) {
  const testing::ScopedTempDirectory folder;
  // Freed memory is overwritten.
  testing::Process process(
      std::move(command), {"QT_QPA_PLATFORM=offscreen", "SDL_VIDEODRIVER=dummy", "MALLOC_PERTURB_=165",
                           "GLIBC_TUNABLES=glibc.malloc.tcache_count=0", "G_DEBUG=fatal-warnings",
                           "GSETTINGS_BACKEND=memory", "NO_AT_BRIDGE=1", "XDG_RUNTIME_DIR=" + folder.path()});
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  return process.Output();
}

// On a loaded machine fast frames may be slow, too: never the other way.
void ExpectSlowTenth(const Numbers& numbers) {
  const unsigned slow = numbers.normal + numbers.middle + numbers.high + numbers.frozen;
  EXPECT_GE(slow * 10 + 10, numbers.best + slow);
  EXPECT_GE(numbers.dropped, 3 * slow);
  EXPECT_GE(numbers.p95_ms, 60);
  EXPECT_GE(numbers.p95_ms, numbers.median_ms);
  EXPECT_GT(numbers.per_second, 0);
}

TEST(FramesTest, AFrameThatTheDisplayPacesIsNotDropped) {
  const std::string output = OutputOf({LAGWATCH_PACED_FRAMES});
  unsigned count = 0, paced = 0, most_paced = 0, slow = 0, most_slow = 0;
  ASSERT_EQ(std::sscanf(output.c_str(), "frames %u dropped %u most %u frames %*u dropped %u most %u", &count,
                        &paced, &most_paced, &slow, &most_slow),
            5)
      << output;
  EXPECT_LE(paced, most_paced);
  EXPECT_GE(slow, 2 * count);
  EXPECT_LE(slow, most_slow);
}

#ifdef LAGWATCH_SDL_FRAMES
TEST(FramesTest, SdlDrawsThemAndAScopeCountsAnew) {
  const std::string output = OutputOf({LAGWATCH_SDL_FRAMES});
  const Numbers numbers = Parse(output);
  ExpectSlowTenth(numbers);
  EXPECT_EQ(numbers.best + numbers.normal + numbers.middle + numbers.high + numbers.frozen, 100u);
  EXPECT_NE(output.find("drawn 1"), std::string::npos);
  const size_t scope = output.find("fps  scroll\n");
  ASSERT_NE(scope, std::string::npos) << output;
  unsigned best = 0;
  std::sscanf(output.c_str() + output.rfind("levels"), "levels %u", &best);
  EXPECT_LE(best, 2u);
}
#endif

#ifdef LAGWATCH_GTK_FRAMES
TEST(FramesTest, GtkShowsThoseOfAWindowUntilItIsDestroyed) {
  const std::string output = OutputOf({"xvfb-run", "-a", LAGWATCH_GTK_FRAMES});
  ExpectSlowTenth(Parse(output));
  EXPECT_NE(output.find("left 0\n"), std::string::npos) << output;
}
#endif

#ifdef LAGWATCH_QT_FRAMES
TEST(FramesTest, QtShowsThoseOfAWindowUntilAnEventDeletesIt) {
  const std::string output = OutputOf({LAGWATCH_QT_FRAMES});
  ExpectSlowTenth(Parse(output));
  EXPECT_NE(output.find("left 0\n"), std::string::npos) << output;
}
#endif

}  // namespace
}  // namespace lagwatch
