// SPDX-License-Identifier: Apache-2.0
// Names the frames of a trace by symbol files. Context: background.
#pragma once

#include <chrono>

#include "collector/symbols/names/symbolizer.h"
#include "trace/model/trace.h"

namespace lagwatch::collector {

// Gives frames that have no name the name, file and line of the function that the place is in; where others
// are inlined there, of the one that they are inlined into. Names that were given become readable. Modules
// that were not looked up before `most` is over keep their places. `symbolizer` may be null. Returns false
// when some module cannot be looked up now, but may be later.
bool NameFrames(Symbolizer* symbolizer, std::chrono::nanoseconds most, trace::Trace* trace);

}  // namespace lagwatch::collector
