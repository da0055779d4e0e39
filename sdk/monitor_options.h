// SPDX-License-Identifier: Apache-2.0
// The monitor's part of the program's options.
#pragma once

#include <lagwatch/options.h>

#include "sdk/monitor.h"

namespace lagwatch::sdk {

// Without the program's callbacks and the sealer.
MonitorOptions ToMonitorOptions(const Options& options);

}  // namespace lagwatch::sdk
