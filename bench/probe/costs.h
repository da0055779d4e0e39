// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lagwatch::trace {
class FunctionProber;
}  // namespace lagwatch::trace

// Returns its argument and 1: the function that is measured, bare and with probes.
extern "C" uint64_t lagwatch_bench_one_byte(uint64_t number);

namespace lagwatch::bench {

// The calling thread's processor time.
int64_t ThreadNowNs();

// Members of a JSON object: nanoseconds for one call with a handler of a few instructions, above the bare
// call, by what the handler asks for and by tier.
std::string MeasureProbeCosts(trace::FunctionProber* prober);

}  // namespace lagwatch::bench
