// SPDX-License-Identifier: Apache-2.0
#include "bench/query/reports.h"

#include <cstdio>
#include <cstdlib>

namespace lagwatch::bench {

void Fill(collector::Store* store, Reports source, size_t reports, size_t of_a_commit) {
  const double begin_ms = NowMs();
  for (size_t made = 0; made < reports;) {
    std::vector<collector::NewRecord> records;
    for (; records.size() < of_a_commit && made < reports; ++made) records.push_back(source.Next());
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

}  // namespace lagwatch::bench
