// SPDX-License-Identifier: Apache-2.0
// The displayed names of a trace's elements. Context: background.
#pragma once

#include <string>
#include <string_view>

#include "trace/model/trace.h"

namespace lagwatch::trace {

// "mutex", "file" …; empty for kNone.
std::string_view NameOf(CallKind call);

// The function's name, or "module+0xoffset" as long as there is none.
std::string DisplayName(const Trace& trace, const NamedFrame& frame);

}  // namespace lagwatch::trace
