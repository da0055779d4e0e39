// SPDX-License-Identifier: Apache-2.0
// Places in optimized code without frame pointers from which a thread looks at its own stack.
#pragma once

namespace lagwatch::stack {

using Look = void (*)(void*);

void LookFromRecursion(Look look, void* argument);
void LookFromVariableFrame(Look look, void* argument);
void LookFromSort(Look look, void* argument);
void LookFromCatch(Look look, void* argument);
void LookFromDestructorInFlight(Look look, void* argument);
void LookFromRealignedFrame(Look look, void* argument);
void LookFromSignalHandler(Look look, void* argument);

}  // namespace lagwatch::stack
