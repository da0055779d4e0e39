// SPDX-License-Identifier: Apache-2.0
// The seam to the system's run loop: LWRunLoopWatch_cf.m on Apple's systems, LWRunLoopWatch_gnustep.m on
// GNUstep. The build chooses one.
#import <Foundation/Foundation.h>

#include "LWDispatches.h"

// Reports the activities of the calling thread's run loop to `dispatches`, for as long as the thread runs;
// once in a process. `modes` are the names of its common modes, which its dispatches have as their tags.
// Returns NO if the run loop is not one that it knows; then no activity is ever reported.
BOOL LWWatchCurrentRunLoop(LWDispatches* dispatches, NSArray* modes);
