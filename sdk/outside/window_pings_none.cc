// SPDX-License-Identifier: Apache-2.0
// Built without libxcb: no window is asked.
#include "sdk/outside/window_pings.h"

namespace lagwatch::sdk {

std::unique_ptr<WindowPings> WindowPings::Create(pid_t) { return nullptr; }

void WindowPings::Ask(int64_t) {}

}  // namespace lagwatch::sdk
