// SPDX-License-Identifier: Apache-2.0
// Stores of more than people read at once.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/collector/seed/seeder.h"
#include "tests/collector/seed/seeds.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::testing {

using policies::VerdictWord;

// 400 samples of 250 frames each, all different, and 500 threads.
void SeedLarge(Seeder* seeder) {
  constexpr int kSamples = 400, kFrames = 250, kThreads = 500, kFramesOfAThread = 60;
  SampleReport report;
  Seeder::StampHeader(seeder->now_ms() - kMsPerHour, &report.header);
  report.header.app = "large";
  report.room_bytes = 16 << 20;
  report.header.elapsed_ns = 40'000 * kNsPerMs;
  const auto stack = [](const std::string& leaf, int of, int frames) {
    std::vector<std::string> names = {"Leaf" + leaf};
    for (int i = 1; i < frames - 1; ++i)
      names.push_back("Outer::Inner" + std::to_string((of * 7 + i) % 20'000) + "::Call");
    names.emplace_back("main");
    return names;
  };
  for (int i = 0; i < kSamples; ++i) report.samples.push_back(stack(std::to_string(i), i * 40, kFrames));
  report.stack = report.samples.front();
  for (int i = 0; i < kThreads; ++i)
    report.threads.push_back({"worker" + std::to_string(i), stack("OfThread", i * 13, kFramesOfAThread)});
  report.verdict = VerdictOf(VerdictWord::kCpu, 2'000 * kNsPerMs);
  seeder->Add(report::RecordType::kReport, report.Encode());
}

void SeedMany(Seeder* seeder, int count) {
  for (int i = 0; i < count; ++i) {
    SampleReport report;
    Seeder::StampHeader(seeder->now_ms() - seeder->Below(14 * kMsPerDay), &report.header);
    report.header.elapsed_ns = (2000 + seeder->Below(3000)) * kNsPerMs;
    const std::string number = std::to_string(i);
    report.stack = {"Leaf" + number, "Caller" + number, "Outer", "main"};
    report.verdict = VerdictOf(static_cast<VerdictWord>(1 + i % 7), 2'000 * kNsPerMs);
    seeder->Add(report::RecordType::kReport, report.Encode());
    if (i % 5000 == 4999) std::fprintf(stderr, "seed_store: %d reports\n", i + 1);
  }
}

}  // namespace lagwatch::testing
