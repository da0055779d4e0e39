// SPDX-License-Identifier: Apache-2.0
// Speedscope's own file format (https://www.speedscope.app/file-format-schema.json): an evented profile
// for each track, in the order of time, and a sampled one of all threads, in which each stack has its
// time. Context: background.
#pragma once

#include <string>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

std::string SpeedscopeJson(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace
