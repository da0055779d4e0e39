// SPDX-License-Identifier: Apache-2.0
// Runs the queries of a collector's users on its store, without HTTP and from one thread. Prints progress
// to standard error.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/query/reports.h"
#include "collector/query/query_api.h"
#include "collector/store/store.h"

namespace lagwatch::bench {

inline constexpr int kQuestions = 200;

// Lists of causes, by what follows `/v1/clusters?`.
inline std::vector<std::string> CauseLists() {
  return {"",
          "level=2",
          "offset=1000",
          "app=mail",
          "app=mail&version=2.3",
          "verdict=lock",
          "os=system%201&loop=ui",
          "from_ms=" + std::to_string(kFirstDayMs + 29 * 86'400'000LL),
          "from_ms=" + std::to_string(kFirstDayMs + 23 * 86'400'000LL),
          "from_ms=" + std::to_string(kFirstDayMs)};
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

  double Causes(int count = kQuestions) {
    const std::vector<std::string> queries = CauseLists();
    for (const std::string& query : queries) {
      P95(("causes " + query).c_str(), 9, [&] { return std::pair("/v1/clusters", query); });
    }
    size_t at = 0;
    return P95("causes, all of these in turn", count,
               [&] { return std::pair("/v1/clusters", queries[at++ % queries.size()]); });
  }

  double OneCause(size_t clusters, int count = kQuestions) {
    std::vector<std::string> keys;
    for (const size_t offset : {size_t{0}, clusters / 2}) {
      const auto page = store_->Causes({.limit = 100, .offset = static_cast<int64_t>(offset)}).value();
      for (const auto& cause : page.causes) keys.push_back(cause.cluster.key);
    }
    size_t at = 0;
    return P95("a cause, of the costliest and others", count,
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

}  // namespace lagwatch::bench
