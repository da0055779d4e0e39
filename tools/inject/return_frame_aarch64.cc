// SPDX-License-Identifier: Apache-2.0
#include "tools/inject/return_frame.h"

namespace lagwatch::tools {

uint64_t FindSignalReturn(pid_t, const LoadedLibrary&) { return 0; }

std::optional<ReturnFrame> MakeReturnFrame(const ThreadState&, uint64_t, uint64_t) { return std::nullopt; }

}  // namespace lagwatch::tools
