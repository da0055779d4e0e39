// SPDX-License-Identifier: Apache-2.0
// The uncertainty of a cause's hang time per hour of use. Context: background; pure.
#pragma once

#include "collector/cluster/cause_sums.h"

namespace lagwatch::collector {

struct RateInterval {
  double low = 0;
  double high = 0;
};

// The 95 % interval of `rate`, the hang time per hour that `sums` came to, in the unit of the rate. Hangs are
// taken to come independently of each other (a compound Poisson process), but all hangs of one user to come
// together: with h hangs of u users, the variance of the sum of the durations d is max(1, h / u) * sum(d²).
// The interval is symmetric in the logarithm. Assumes that the watched time has no error.
RateInterval IntervalOf(double rate, const CauseSums& sums);

// The upper end for a part without a hang that was watched for so long, in ns per hour: three hangs (the rule
// of three) of the mean weighted duration of `sums`, those of the other parts.
double MostNsWithoutHang(const CauseSums& sums, double watched_ns);

}  // namespace lagwatch::collector
