// SPDX-License-Identifier: Apache-2.0
// A hang that was reported, in words: those of `lagwatch why`. Context: background; pure.
#pragma once

#include <cstddef>
#include <string>

#include "tools/read/endpoint.h"

namespace lagwatch::tools {

// "the main thread (4711) has waited in Index::Lookup, called by OnKey for a mutex that …", of a report as
// the API returns it; without the time that it took.
std::string HangSentence(const Json& report);

// The block of `--log`, with its last line's end: the program, the time so far, the loop and its dispatch,
// the sentence, the verdict, the innermost frames with their lines, and the command that shows the rest. Each
// line is printable.
std::string HangBlock(const Json& report);

// The innermost function of the program's own, else of the cause; empty without a stack.
std::string GuiltyFunction(const Json& report);

}  // namespace lagwatch::tools
