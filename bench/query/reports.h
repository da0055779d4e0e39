// SPDX-License-Identifier: Apache-2.0
// Reports of a month: causes are as unequal as words are (Zipf), with ten programs' versions, five systems
// and 20,000 users. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collector/store/records.h"
#include "collector/store/store.h"
#include "report/format/report.h"
#include "tests/testing/sample_report.h"

namespace lagwatch::bench {

inline constexpr int64_t kFirstDayMs = 1'760'000'000'000 / 86'400'000 * 86'400'000;
inline constexpr int kDays = 30;

inline double NowMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Numbers below `count`, the smaller the more often.
class Zipf {
 public:
  explicit Zipf(size_t count) {
    double sum = 0;
    for (size_t i = 1; i <= count; ++i) sums_.push_back(sum += 1 / static_cast<double>(i));
  }
  size_t operator()(std::mt19937_64& random) const {
    const double at = std::uniform_real_distribution<double>(0, sums_.back())(random);
    return static_cast<size_t>(std::ranges::upper_bound(sums_, at) - sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

class Reports {
 public:
  // Made within `days`; `payload_bytes` at least of each are as it was encoded.
  Reports(size_t reports, size_t clusters, int days = kDays, size_t payload_bytes = 2000)
      : reports_(reports), ms_(static_cast<size_t>(days) * 86'400'000), zipf_(clusters) {
    const std::string encoded = testing::SampleReport().Encode();
    decoded_ = report::DecodeReport(encoded).value();
    // As large as reports of real stalls are.
    payload_ = encoded;
    while (payload_.size() < payload_bytes)
      report::AppendSymbol({0, payload_.size(), "A::name(of a, function)"}, &payload_);
  }

  collector::NewReport Next() {
    const size_t cause = zipf_(random_);
    report::Report report = decoded_;
    // They come as they are made, up to six hours late.
    const int64_t start_ms =
        kFirstDayMs + static_cast<int64_t>(made_++ * ms_ / reports_) - Below(6 * 3'600'000);
    report.id = report.hang_id = base::CreateUuidV7(start_ms);
    report.start_wall_ms = static_cast<uint64_t>(start_ms);
    report.elapsed_ns = static_cast<uint64_t>(std::lognormal_distribution<double>(20.5, 1)(random_));
    report.user = "u-" + std::to_string(Below(20'000));
    report.app = cause % 3 ? "mail" : "editor";
    report.app_version = "2." + std::to_string(Below(5));
    report.os = "system " + std::to_string(Below(5));
    report.loop = cause % 4 ? "ui" : "io";
    report.verdict.word = static_cast<policies::VerdictWord>(1 + (cause + (Below(10) == 0)) % 6);
    report.cause = cause + 1;
    return collector::NewReport::Create(report, ClustersOf(cause), payload_);
  }

 private:
  int64_t Below(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }

  // Some callers of each cause are different.
  collector::ClusterPath ClustersOf(size_t cause) {
    const std::string number = std::to_string(cause);
    const std::string caller = std::to_string(Below(2));
    std::vector<std::string> frames = {"Leaf" + number, "Caller" + number};
    collector::ClusterPath path;
    path[0].key = policies::ClusterKey(policies::ClusterBy::kSignificant, 1, frames, {});
    path[0].frames = frames;
    frames.insert(frames.end(), {"Outer" + caller, "Loop"});
    path[1] = path[0];
    path[1].level = 2;
    path[1].key = policies::ClusterKey(policies::ClusterBy::kSignificant, 2, frames, {});
    path[1].parent_key = path[0].key;
    path[1].frames = frames;
    return path;
  }

  std::mt19937_64 random_{7};
  size_t made_ = 0;
  size_t reports_;
  size_t ms_;
  Zipf zipf_;
  report::Report decoded_;
  std::string payload_;
};

// Commits all of them, `of_a_commit` at a time. Ends the program when that fails.
void Fill(collector::Store* store, Reports source, size_t reports, size_t of_a_commit);

}  // namespace lagwatch::bench
