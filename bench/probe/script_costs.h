// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lagwatch::trace {
class FunctionProber;
}  // namespace lagwatch::trace

namespace lagwatch::bench {

// Members of a JSON object: nanoseconds of one call of a function with a script's probe, above the bare call,
// the interpreter and the saving of registers included. Ends the process if a script's hits are not counted.
std::string MeasureScriptCosts(trace::FunctionProber* prober);

}  // namespace lagwatch::bench
