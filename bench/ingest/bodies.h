// SPDX-License-Identifier: Apache-2.0
// Upload requests of unique reports, each like one of a real stall.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::bench {

// Encoded reports of real stalls, which bench_wire (beside `program`) makes now.
std::vector<std::string> MakeRealReports(const std::string& program);

// Whole HTTP requests, each with `reports_each` reports that are in no other, packed and compressed as
// clients do. Two calls with different seeds have no report in common.
std::vector<std::string> MakeRequests(const std::vector<std::string>& real, size_t requests,
                                      size_t reports_each, uint64_t seed, const std::string& path,
                                      const std::string& key);

}  // namespace lagwatch::bench
