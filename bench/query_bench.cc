// SPDX-License-Identifier: Apache-2.0
// Measures the time of queries to a collector with many reports.
//
//   bench_query [REPORTS [CLUSTERS [DATABASE]]]
//
// Fills a database (in a temporary directory unless one is named, which is then kept and, if it exists
// already, used) with reports of a month: causes are as unequal as words are (Zipf), with ten programs'
// versions, five systems and 20,000 users. Then queries the API, without HTTP, from one thread. Prints
// causes_p95_ms (lists, filtered in several ways), cause_p95_ms, report_p95_ms; stored_per_s while it was
// filled. Needs 8 GiB in /tmp.
//
// `scripts/bench query --store clickhouse` runs query_clickhouse_bench.cc instead, on a cluster that it
// starts: the same with 5 million reports; sum_up_s (all days); unequal_to_sqlite, of 53 answers about the
// same 100,000 reports; day_of_million_sum_up_s, the worker's seconds for one day.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/query/questions.h"
#include "bench/query/reports.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {
namespace {

constexpr size_t kReportsOfACommit = 20'000;

int Main(int argc, char** argv) {
  const size_t reports = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2'000'000;
  const size_t clusters = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 50'000;
  testing::ScopedTempDirectory directory;
  const std::string path = argc > 3 ? argv[3] : directory / "collector.db";
  const bool is_there = std::filesystem::exists(path);
  auto store = std::move(collector::SqliteStore::Open(path)).value();
  const double begin_ms = NowMs();
  if (!is_there) Fill(store.get(), Reports(reports, clusters), reports, kReportsOfACommit);
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
