// SPDX-License-Identifier: Apache-2.0
// Plays many cases, each from a seed of its own, and says of which one something is wrong and how
// to repeat it.
#include <spdlog/spdlog.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "tests/faults/case_env.h"
#include "tests/faults/fault_case.h"

namespace {

using lagwatch::faults::CaseTotals;
using lagwatch::faults::Sabotage;

constexpr char kUsage[] =
    "Usage: fault_suite [--cases N] [--seed S] [--break ledger|removal] [--trace on]\n"
    "Plays the cases of the seeds S, S+1, … S+N-1 (default: 1 case of seed 1) and checks that no report of "
    "theirs is\n"
    "lost uncounted or told twice. --break breaks the client, to see that it is noticed.\n";

struct Options {
  uint64_t cases = 1;
  uint64_t seed = 1;
  Sabotage sabotage = Sabotage::kNone;
};

// False when there is something in them that is not known.
bool Parse(int argc, char** argv, Options* options) {
  const std::map<std::string_view, Sabotage> sabotages = {{"ledger", Sabotage::kForgottenLedger},
                                                          {"removal", Sabotage::kHastyRemoval}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--cases") {
      options->cases = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--seed") {
      options->seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--break" && sabotages.contains(argv[i + 1])) {
      options->sabotage = sabotages.at(argv[i + 1]);
    } else if (name == "--trace") {
      lagwatch::faults::CaseEnv::Trace();
    } else {
      return false;
    }
  }
  return argc % 2 == 1;
}

// Prefers a file system in memory: there are many files, and none has to outlive the machine.
void ChooseTempDirectory() {
  std::error_code error;
  const auto space = std::filesystem::space("/dev/shm", error);
  if (!error && space.available > (256 << 20)) setenv("TMPDIR", "/dev/shm", /*overwrite=*/0);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kMaxFailures = 5;
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  ChooseTempDirectory();
  spdlog::set_level(spdlog::level::off);
  CaseTotals totals;
  int failures = 0;
  uint64_t played = 0;
  for (; played < options.cases && failures < kMaxFailures; ++played) {
    const uint64_t seed = options.seed + played;
    const std::string problem = lagwatch::faults::PlayCase(seed, options.sabotage, &totals);
    if (problem.empty()) continue;
    ++failures;
    std::printf("FAILED: case %llu: %s  to repeat it: scripts/test --faults 1 --seed %llu\n",
                static_cast<unsigned long long>(seed), problem.c_str(),
                static_cast<unsigned long long>(seed));
    std::fflush(stdout);
  }
  std::printf(
      "%llu cases from seed %llu, %d failed: %llu reports planned, %llu stored, %llu counted as lost, "
      "%llu requests, %llu kills, %llu power cuts\n",
      static_cast<unsigned long long>(played), static_cast<unsigned long long>(options.seed), failures,
      static_cast<unsigned long long>(totals.reports), static_cast<unsigned long long>(totals.stored),
      static_cast<unsigned long long>(totals.lost), static_cast<unsigned long long>(totals.requests),
      static_cast<unsigned long long>(totals.kills), static_cast<unsigned long long>(totals.power_cuts));
  return failures == 0 ? 0 : 1;
}
