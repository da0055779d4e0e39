// SPDX-License-Identifier: Apache-2.0
// How long questions take that people ask of a collector with many reports.
//
//   bench_query [REPORTS [CLUSTERS [DATABASE]]]
//
// Fills a database (in a temporary directory unless one is named, which is then kept and, when it is there
// already, used) with reports of a month: causes are as unequal as words are (Zipf), with ten programs'
// versions, five systems and 20,000 users. Then asks the API, without HTTP, from one thread.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "collector/query/query_api.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "report/format/report.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {
namespace {

using collector::NewRecord;
using collector::NewReport;

constexpr int64_t kFirstDayMs = 1'760'000'000'000 / 86'400'000 * 86'400'000;
constexpr int kDays = 30;
constexpr size_t kReportsOfACommit = 20'000;
constexpr int kQuestions = 200;

double NowMs() {
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
  Reports(size_t reports, size_t clusters) : reports_(reports), zipf_(clusters) {
    const std::string encoded = testing::SampleReport().Encode();
    decoded_ = report::DecodeReport(encoded).value();
    // As large as reports of real stalls are.
    payload_ = encoded;
    while (payload_.size() < 2000)
      report::AppendSymbol({1, payload_.size(), "A::name(of a, function)"}, &payload_);
  }

  NewReport Next() {
    const size_t cause = zipf_(random_);
    report::Report report = decoded_;
    // They come as they are made, up to six hours late.
    const int64_t start_ms =
        kFirstDayMs + static_cast<int64_t>(made_++ * month_ms_ / reports_) - Below(6 * 3'600'000);
    report.id = report.lag_id = base::CreateUuidV7(start_ms);
    report.start_wall_ms = static_cast<uint64_t>(start_ms);
    report.elapsed_ns = static_cast<uint64_t>(std::lognormal_distribution<double>(20.5, 1)(random_));
    report.user = "u-" + std::to_string(Below(20'000));
    report.app = cause % 3 ? "mail" : "editor";
    report.app_version = "2." + std::to_string(Below(5));
    report.os = "system " + std::to_string(Below(5));
    report.loop = cause % 4 ? "ui" : "io";
    report.verdict.word = static_cast<policies::VerdictWord>(1 + (cause + (Below(10) == 0)) % 6);
    report.cause = cause + 1;
    return NewReport::Create(report, ClustersOf(cause), payload_);
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

  static constexpr size_t month_ms_ = size_t{kDays} * 86'400'000;

  std::mt19937_64 random_{7};
  size_t made_ = 0;
  size_t reports_;
  Zipf zipf_;
  report::Report decoded_;
  std::string payload_;
};

void Fill(collector::Store* store, size_t reports, size_t clusters) {
  Reports source(reports, clusters);
  const double begin_ms = NowMs();
  for (size_t made = 0; made < reports;) {
    std::vector<NewRecord> records;
    for (; records.size() < kReportsOfACommit && made < reports; ++made) records.push_back(source.Next());
    if (auto committed = store->Commit(records); !committed.ok()) {
      std::fprintf(stderr, "bench: %s\n", committed.status().message().c_str());
      std::exit(1);
    }
    if (made % 100'000 == 0) {
      std::fprintf(stderr, "\r%zu reports stored, %.0f/s ", made,
                   1000 * static_cast<double>(made) / (NowMs() - begin_ms));
    }
  }
  std::fprintf(stderr, "\n");
}

class Questions {
 public:
  explicit Questions(collector::Store* store) : store_(store), api_(store, {}) {}

  // Milliseconds that 95 % of `count` answers take less than.
  double P95(const char* name, int count, const std::function<std::pair<std::string, std::string>()>& next) {
    std::vector<double> times_ms;
    for (int i = 0; i < count; ++i) {
      const auto [path, query] = next();
      const double begin_ms = NowMs();
      const auto answer = api_.Get(path, query);
      times_ms.push_back(NowMs() - begin_ms);
      if (answer.status != 200) {
        std::fprintf(stderr, "bench: %s?%s: %s\n", path.c_str(), query.c_str(), answer.body.c_str());
        std::exit(1);
      }
    }
    std::ranges::sort(times_ms);
    const double p95_ms = times_ms[times_ms.size() * 95 / 100];
    std::fprintf(stderr, "%-34s p50 %7.2f  p95 %7.2f  max %7.2f ms\n", name, times_ms[times_ms.size() / 2],
                 p95_ms, times_ms.back());
    return p95_ms;
  }

  double Causes() {
    const std::vector<std::string> queries = {"",
                                              "level=2",
                                              "offset=1000",
                                              "app=mail",
                                              "app=mail&version=2.3",
                                              "verdict=lock",
                                              "os=system%201&loop=ui",
                                              "from_ms=" + std::to_string(kFirstDayMs + 29 * 86'400'000LL),
                                              "from_ms=" + std::to_string(kFirstDayMs + 23 * 86'400'000LL),
                                              "from_ms=" + std::to_string(kFirstDayMs)};
    for (const std::string& query : queries) {
      P95(("causes " + query).c_str(), 9, [&] { return std::pair("/v1/clusters", query); });
    }
    size_t at = 0;
    return P95("causes, all of these in turn", kQuestions,
               [&] { return std::pair("/v1/clusters", queries[at++ % queries.size()]); });
  }

  double OneCause(size_t clusters) {
    std::vector<std::string> keys;
    for (const size_t offset : {size_t{0}, clusters / 2}) {
      const auto page = store_->Causes({.limit = 100, .offset = static_cast<int64_t>(offset)}).value();
      for (const auto& cause : page.causes) keys.push_back(cause.cluster.key);
    }
    size_t at = 0;
    return P95("a cause, of the costliest and others", kQuestions,
               [&] { return std::pair("/v1/clusters/" + keys[at++ % keys.size()], std::string()); });
  }

  double OneReport() {
    std::vector<std::string> ids;
    for (int day = 0; day < kDays; ++day) {
      const auto rows = store_->Reports(
          {.first_day = kFirstDayMs / 86'400'000 + day, .last_day = kFirstDayMs / 86'400'000 + day}, 7);
      for (const auto& row : *rows) ids.push_back(base::ToString(row.id));
    }
    size_t at = 0;
    return P95("a report", kQuestions,
               [&] { return std::pair("/v1/reports/" + ids[at++ % ids.size()], std::string()); });
  }

  void Searches() {
    for (const char* query : {"q=caller77", "q=caller", "q=nobody", "q=caller1&app=mail&version=2.3"}) {
      P95((std::string("causes ") + query).c_str(), 9,
          [&] { return std::pair<std::string, std::string>("/v1/clusters", query); });
    }
  }

  void Lists() {
    for (const char* query : {"", "version=2.3", "user=u-77", "verdict=disk&os=system%202"}) {
      P95((std::string("reports ") + query).c_str(), 20,
          [&] { return std::pair<std::string, std::string>("/v1/reports", query); });
    }
  }

 private:
  collector::Store* store_;
  collector::QueryApi api_;
};

int Main(int argc, char** argv) {
  const size_t reports = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const size_t clusters = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 50'000;
  testing::ScopedTempDirectory directory;
  const std::string path = argc > 3 ? argv[3] : directory / "collector.db";
  const bool is_there = std::filesystem::exists(path);
  auto store = std::move(collector::SqliteStore::Open(path)).value();
  const double begin_ms = NowMs();
  if (!is_there) Fill(store.get(), reports, clusters);
  const double fill_s = (NowMs() - begin_ms) / 1000;
  const auto all = store->Causes({.limit = 0}).value().all.sums;
  std::fprintf(stderr, "%lld reports, %.1f GiB\n", static_cast<long long>(all.reports),
               static_cast<double>(std::filesystem::file_size(path)) / (1 << 30));
  Questions questions(store.get());
  const double causes_ms = questions.Causes();
  const double cause_ms = questions.OneCause(clusters);
  const double report_ms = questions.OneReport();
  questions.Searches();
  questions.Lists();
  nlohmann::ordered_json json = {
      {"reports", all.reports},     {"clusters", clusters},
      {"causes_p95_ms", causes_ms}, {"cause_p95_ms", cause_ms},
      {"report_p95_ms", report_ms}, {"stored_per_s", is_there ? 0 : static_cast<double>(reports) / fill_s}};
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lagwatch::bench

int main(int argc, char** argv) { return lagwatch::bench::Main(argc, argv); }
