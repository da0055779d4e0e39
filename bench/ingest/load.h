// SPDX-License-Identifier: Apache-2.0
// Clients that send requests as fast as they are answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::bench {

struct LoadResult {
  double seconds = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  size_t failed = 0;  // not answered with a 2xx
  double requests_per_s = 0;
};

// Sends each request once, over `connections` that are kept alive, with TLS or without.
LoadResult Load(uint16_t port, bool is_tls, int connections, const std::vector<std::string>& requests);

}  // namespace lagwatch::bench
