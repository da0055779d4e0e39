// SPDX-License-Identifier: Apache-2.0
// A recording's times, against those that the program itself wrote down.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/tools/trace/recorded.h"

namespace lagwatch::tools {
namespace {

using testing::Process;
using testing::TraceDirectory;

struct Way {
  const char* name;
  std::vector<std::string> flags;

  friend void PrintTo(const Way& way, std::ostream* stream) { *stream << way.name; }
};

class RecordedTruth : public ::testing::TestWithParam<Way> {};

std::map<std::string, int64_t> ReadTruth(const std::string& path) {
  std::map<std::string, int64_t> truth_ns;
  std::ifstream file(path);
  std::string name;
  for (int64_t ns = 0; file >> name >> ns;) truth_ns[name] = ns;
  return truth_ns;
}

// The quality of a recording.
struct Comparison {
  bool is_alone = false;  // the program had the processor almost alone
  std::string wrong;
};

// A call of 160 ms that is sampled every 10 ms is seen to last that long, within 4 ms, and there are a dozen
// of each: that is 1 % at worst, with one exception in a thousand tries. Of time in which others had the
// processor, which a sampler may wait for, too, a tenth may be missing.
Comparison Compare(std::map<std::string, int64_t> truth_ns, std::map<std::string, int64_t> totals_ns) {
  constexpr double kMostError = 0.03;
  constexpr double kMostOfTaken = 0.1;
  Comparison comparison;
  const int64_t planned_ns = truth_ns.extract("(planned)").mapped();
  const auto taken_ns = static_cast<double>(truth_ns["main"] - planned_ns);
  comparison.is_alone = taken_ns < kMostError * static_cast<double>(planned_ns);
  for (const auto& [name, true_ns] : truth_ns) {
    const auto whole_ns = static_cast<double>(true_ns);
    const double error_ns = static_cast<double>(totals_ns[name]) - whole_ns;
    std::printf("%-16s %8.1f ms, recorded %+6.2f %%\n", name.c_str(), whole_ns / testing::kMs,
                100 * error_ns / whole_ns);
    const double limit_ns = kMostError * whole_ns + (comparison.is_alone ? 0 : kMostOfTaken * taken_ns);
    if (std::abs(error_ns) > limit_ns)
      comparison.wrong +=
          name + ": " + std::to_string(totals_ns[name]) + " ns instead of " + std::to_string(true_ns) + "\n";
  }
  return comparison;
}

TEST_P(RecordedTruth, FunctionsTookWhatTheProgramItselfMeasured) {
  constexpr int kTries = 3;  // where others want the processors
  Comparison comparison;
  for (int i = 0; i < kTries; ++i) {
    const TraceDirectory directory;
    Process recorder(directory.RecordCommand(GetParam().flags, {LAGWATCH_SCRIPTED, directory / "truth"}));
    ASSERT_EQ(recorder.Wait(), 0) << recorder.Errors();
    const auto truth_ns = ReadTruth(directory / "truth");
    ASSERT_EQ(truth_ns.size(), 11u);
    const trace::Trace trace = directory.Read();
    comparison = Compare(truth_ns, testing::TotalsByName(trace));
    if (!comparison.wrong.empty()) comparison.wrong += testing::LossesOf(trace);
    if (comparison.wrong.empty() || comparison.is_alone) break;
  }
  EXPECT_EQ(comparison.wrong, "");
}

INSTANTIATE_TEST_SUITE_P(EveryWay, RecordedTruth,
                         ::testing::Values(Way{"Sampled", {"--no-hooks"}},
                                           Way{"SampledOften", {"--no-hooks", "--interval-ms", "1"}},
                                           Way{"WithHooks", {}}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace lagwatch::tools
