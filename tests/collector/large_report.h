// SPDX-License-Identifier: Apache-2.0
// Reports that take room.
#pragma once

#include <random>
#include <string>

#include "tests/testing/sample_report.h"

namespace lagwatch::testing {

// An encoded report of that time, of about 10 KiB that no compression makes much smaller.
inline std::string LargeReport(int64_t wall_ms, std::mt19937* random) {
  constexpr int kFacts = 40;
  constexpr size_t kFactBytes = 250;
  SampleReport report;
  report.header.id = report.header.hang_id = base::CreateUuidV7(wall_ms);
  report.header.start_wall_ms = static_cast<uint64_t>(wall_ms);
  for (int i = 0; i < kFacts; ++i) {
    std::string text(kFactBytes, ' ');
    for (char& c : text) c = static_cast<char>('a' + (*random)() % 26);
    report.facts.push_back({.name = "fact" + std::to_string(i), .number = 0, .text = std::move(text)});
  }
  return report.Encode();
}

}  // namespace lagwatch::testing
