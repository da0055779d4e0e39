// SPDX-License-Identifier: Apache-2.0
// The verifier decides whether a program is harmless, by its operations alone: it runs in the console and
// again in the process that is asked, where the program may come from a stranger. It accepts a probe only if
//   - it has at most kMaxOperations, each of which can be reached, and ends with End on every way;
//   - each jump leads forward, so there is no loop and a known number of operations;
//   - each register is written, on every way, before it is read, and has the type that is asked for;
//   - each index (constant, text, aggregate, record, request, counter, argument) exists, and each value
//   exists at the
//     kind of place;
//   - keys, records, texts, cells and stacks are within probe/limits.h, and so is the memory of all together;
//   - the worst case of a hit, from the table of costs, is at most kMaxHitCostNs.
// There is no operation that writes to the process, calls into it, allocates or waits. Context: background.
#pragma once

#include "base/status.h"
#include "probe/program.h"
#include "probe/verify/verified.h"

namespace lagwatch::probe {

// The program, or kInvalid with "LINE:COLUMN: REASON": the position that the program gives for the operation
// (0:0 for what is not of a probe).
Result<VerifiedProgram> Verify(Program program);

}  // namespace lagwatch::probe
