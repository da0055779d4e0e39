// SPDX-License-Identifier: Apache-2.0
// `lagwatch run --soft-watchdog`: a program's own notifications of systemd's watchdog.
#pragma once

#include <atomic>

#include "watchdog/service/service_beats.h"

namespace lagwatch::sdk {

// Null: nothing is looked at. Never freed.
extern std::atomic<watchdog::ServiceBeats*> g_service_beats;

// From now on, if a service manager waits for this process. Context: background, in the library's
// constructor.
void WatchServiceBeats();

}  // namespace lagwatch::sdk
