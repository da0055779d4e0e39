// SPDX-License-Identifier: Apache-2.0
// pprof's profile.proto (https://github.com/google/pprof/blob/main/proto/profile.proto), gzipped: how often
// each stack was seen and how long it lasted, with its thread as a label. Context: background.
#pragma once

#include <string>

#include "trace/model/spans.h"
#include "trace/model/trace.h"

namespace lagwatch::trace {

std::string PprofProfile(const Trace& trace, const SliceOptions& options = {});

}  // namespace lagwatch::trace
