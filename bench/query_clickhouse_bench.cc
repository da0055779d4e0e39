// SPDX-License-Identifier: Apache-2.0
// Measures the lists of a collector whose reports are in ClickHouse, and the worker that sums the reports up.
//
//   bench_query_clickhouse URL [REPORTS [CLUSTERS [DATABASE]]]
//
// URL is what scripts/clickhouse-cluster prints. Fills a database with the reports of bench_query (with
// shorter payloads, which no list reads), sums them up and asks the lists. A database that is named is kept,
// and used when it is there already. Then fills SQLite and another database with the same 100,000 reports and
// compares the answers, and sums up one day of a million.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/query/questions.h"
#include "bench/query/reports.h"
#include "collector/store/clickhouse/clickhouse_store.h"
#include "collector/store/sqlite/sqlite_store.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {
namespace {

using collector::ClickHouseStore;
using collector::Store;

constexpr size_t kReportsOfACommit = 20'000;
constexpr size_t kPayloadBytes = 100;
constexpr size_t kComparedReports = 100'000;
constexpr size_t kComparedClusters = 5'000;
constexpr size_t kReportsOfADay = 1'000'000;
constexpr int kAsked = 100;

// One part of the bench, in a database of its own.
class Place {
 public:
  Place(const std::string& url, const std::string& database, bool is_kept)
      : url_(url + "/" + database + "?cluster=lagwatch"), database_(database), is_kept_(is_kept) {
    auto store = ClickHouseStore::Open(url_, directory_ / "spool");
    if (!store.ok()) {
      std::fprintf(stderr, "bench: %s\n", store.status().message().c_str());
      std::exit(1);
    }
    store_ = std::move(store).value();
  }
  ~Place() {
    store_.reset();
    if (is_kept_) return;
    collector::Connection nodes(collector::ClickHouseUrl::Parse(url_).value());
    for (size_t node = 0; node < nodes.node_count(); ++node) {
      try {
        nodes.ExecuteAt(node, "DROP DATABASE IF EXISTS " + database_);
      } catch (const collector::ClickHouseError& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
      }
    }
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  ClickHouseStore* store() { return store_.get(); }
  bool HasReports() { return !store_->FindIds({}, {.bytes = {0xff}}, 1)->empty(); }
  // Until nothing is left; seconds.
  double SumUp() {
    const double begin_ms = NowMs();
    for (;;) {
      const auto more = store_->RepairSums(1);
      if (!more.ok()) {
        std::fprintf(stderr, "bench: %s\n", more.status().message().c_str());
        std::exit(1);
      }
      if (*more == 0) return (NowMs() - begin_ms) / 1000;
    }
  }

 private:
  testing::ScopedTempDirectory directory_;
  std::string url_;
  std::string database_;
  bool is_kept_;
  std::unique_ptr<ClickHouseStore> store_;
};

// Numbers may differ in their last digits, which depend on the order that sums are made in.
bool AreAlike(const nlohmann::json& a, const nlohmann::json& b) {
  if (a.is_number() && b.is_number())
    return std::abs(a.get<double>() - b.get<double>()) <= 1e-9 * std::abs(a.get<double>());
  if (a.type() != b.type() || a.size() != b.size()) return false;
  if (a.is_object()) {
    return std::ranges::all_of(a.items(), [&](const auto& item) {
      return b.contains(item.key()) && AreAlike(item.value(), b[item.key()]);
    });
  }
  if (!a.is_array()) return a == b;
  return std::ranges::equal(a, b, AreAlike);
}

// Counts the answers that differ, except for programs, versions and verdicts in lists of some days: SQLite
// returns those of all days.
int CountUnequal(Store* one, Store* other) {
  std::vector<std::pair<std::string, std::string>> asked;
  for (const std::string& list : CauseLists()) asked.emplace_back("/v1/clusters", list);
  for (const char* list : {"q=leaf77", "limit=1000&offset=2000", "app=mail&level=2"})
    asked.emplace_back("/v1/clusters", list);
  const collector::CausePage page = one->Causes({.limit = 20, .offset = 50}).value();
  for (const auto& cause : page.causes) {
    asked.emplace_back("/v1/clusters/" + cause.cluster.key, "");
    asked.emplace_back("/v1/clusters/" + cause.cluster.key, "version=2.3");
  }
  int unequal = 0;
  for (const auto& [path, query] : asked) {
    nlohmann::json answers[2];
    int at = 0;
    for (Store* store : {one, other}) {
      collector::QueryApi api(store, {});
      answers[at] = nlohmann::json::parse(api.Get(path, query).body);
      if (query.starts_with("from_ms")) {
        for (auto& cause : answers[at]) {
          for (const char* of_days : {"apps", "versions", "verdict_ms"}) cause.erase(of_days);
          for (auto& child : cause["children"])
            for (const char* of_days : {"apps", "versions", "verdict_ms"}) child.erase(of_days);
        }
      }
      ++at;
    }
    if (AreAlike(answers[0], answers[1])) continue;
    ++unequal;
    const auto difference = nlohmann::json::diff(answers[0], answers[1]);
    std::fprintf(stderr, "not equal: %s?%s: %s\n", path.c_str(), query.c_str(),
                 difference.dump().substr(0, 500).c_str());
  }
  std::fprintf(stderr, "%zu answers compared with SQLite's, %d not equal\n", asked.size(), unequal);
  return unequal;
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: bench_query_clickhouse URL [REPORTS [CLUSTERS [DATABASE]]]\n");
    return 2;
  }
  const std::string url = argv[1];
  const size_t reports = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5'000'000;
  const size_t clusters = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 50'000;
  nlohmann::ordered_json json = {{"reports", reports}, {"clusters", clusters}};
  {
    Place place(url, argc > 4 ? argv[4] : "bench_query", argc > 4);
    const double begin_ms = NowMs();
    const bool is_there = place.HasReports();
    if (!is_there)
      Fill(place.store(), Reports(reports, clusters, kDays, kPayloadBytes), reports, kReportsOfACommit);
    const double fill_s = (NowMs() - begin_ms) / 1000;
    const double sum_up_s = place.SumUp();
    std::fprintf(stderr, "summed up in %.1f s\n", sum_up_s);
    Questions questions(place.store());
    json["causes_p95_ms"] = questions.Causes(kAsked);
    json["cause_p95_ms"] = questions.OneCause(clusters, kAsked);
    json["report_p95_ms"] = questions.OneReport();
    json["stored_per_s"] = is_there ? 0 : static_cast<double>(reports) / fill_s;
    json["sum_up_s"] = sum_up_s;
  }
  {
    Place place(url, "bench_query_compared", false);
    auto sqlite = std::move(collector::SqliteStore::Open(":memory:")).value();
    const Reports source(kComparedReports, kComparedClusters, kDays, kPayloadBytes);
    std::vector<collector::NewRecord> records;
    Reports same = source;
    for (size_t i = 0; i < kComparedReports; ++i) records.push_back(same.Next());
    for (size_t begin = 0; begin < records.size(); begin += kReportsOfACommit) {
      for (Store* store : {static_cast<Store*>(place.store()), static_cast<Store*>(sqlite.get())}) {
        if (!store
                 ->Commit(
                     std::span(records).subspan(begin, std::min(kReportsOfACommit, records.size() - begin)))
                 .ok())
          return 1;
      }
    }
    place.SumUp();
    json["unequal_to_sqlite"] = CountUnequal(sqlite.get(), place.store());
  }
  {
    Place place(url, "bench_query_day", false);
    Fill(place.store(), Reports(kReportsOfADay, clusters, 1, kPayloadBytes), kReportsOfADay,
         kReportsOfACommit);
    json["day_of_million_sum_up_s"] = place.SumUp();
    std::fprintf(stderr, "%s\n", json.dump().c_str());
  }
  std::printf("%s\n", json.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lagwatch::bench

int main(int argc, char** argv) { return lagwatch::bench::Main(argc, argv); }
