// SPDX-License-Identifier: Apache-2.0
// The text of policies/wait_frames.txt, built into the program. Context: background.
#pragma once

#include <string_view>

namespace lagwatch::collector {

std::string_view DefaultWaitFrames();

}  // namespace lagwatch::collector
