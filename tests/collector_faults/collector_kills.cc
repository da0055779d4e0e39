// SPDX-License-Identifier: Apache-2.0
// Kills a collector at many random moments and says what was lost or counted wrongly, and how to repeat it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "tests/collector_faults/kill_case.h"

namespace {

using lagwatch::faults::Damage;
using lagwatch::faults::KillKind;
using lagwatch::faults::KillSuite;
using lagwatch::faults::KillTotals;

constexpr char kUsage[] =
    "Usage: collector_kills --program COLLECTOR [--kills N] [--seed S] [--break report|sum]\n"
    "Kills COLLECTOR N times (default: 1), in cases of the seeds S, S+1, … (default: 1) with up to three "
    "kills\n"
    "each, and compares its databases with what it acknowledged. --break damages the database at the end of\n"
    "each case, to see that it is noticed.\n";

struct Options {
  std::string program;
  int kills = 1;
  uint64_t seed = 1;
  Damage damage = Damage::kNone;
};

// False if one is not known.
bool Parse(int argc, char** argv, Options* options) {
  const std::map<std::string_view, Damage> damages = {{"report", Damage::kLostReport},
                                                      {"sum", Damage::kWrongSum}};
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--program") {
      options->program = argv[i + 1];
    } else if (name == "--kills") {
      options->kills = std::atoi(argv[i + 1]);
    } else if (name == "--seed") {
      options->seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--break" && damages.contains(argv[i + 1])) {
      options->damage = damages.at(argv[i + 1]);
    } else {
      return false;
    }
  }
  return argc % 2 == 1 && !options->program.empty();
}

// Prefers a file system in memory: a killed process loses nothing that it wrote, wherever that is.
void ChooseTempDirectory() {
  std::error_code error;
  const auto space = std::filesystem::space("/dev/shm", error);
  if (!error && space.available > (512 << 20)) setenv("TMPDIR", "/dev/shm", /*overwrite=*/0);
}

void PrintTotals(const KillTotals& totals, uint64_t cases, uint64_t seed, int failures) {
  std::printf(
      "%d kills in %llu cases from seed %llu, %d failed: %llu reports acknowledged, %llu batches unanswered",
      totals.kills, static_cast<unsigned long long>(cases), static_cast<unsigned long long>(seed), failures,
      static_cast<unsigned long long>(totals.reports), static_cast<unsigned long long>(totals.unanswered));
  for (const auto& [kind, kills] : totals.of_kind) {
    const auto midway = totals.midway.find(kind);
    std::printf("; %s: %d kills, %d midway", NameOf(kind), kills,
                midway == totals.midway.end() ? 0 : midway->second);
  }
  std::printf("\n");
}

int Main(const Options& options) {
  constexpr int kMaxFailures = 5;
  KillSuite suite(options.program);
  KillTotals totals;
  int failures = 0;
  uint64_t cases = 0;
  for (; totals.kills < options.kills && failures < kMaxFailures; ++cases) {
    const auto seed = static_cast<unsigned long long>(options.seed + cases);
    const std::string problem = suite.Play(seed, options.kills - totals.kills, options.damage, &totals);
    if (problem.empty()) continue;
    ++failures;
    std::printf("FAILED: case %llu: %s  to repeat it: scripts/test --collector-faults 1 --seed %llu\n", seed,
                problem.c_str(), seed);
    std::fflush(stdout);
  }
  PrintTotals(totals, cases, options.seed, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  ChooseTempDirectory();
  return Main(options);
}
