// SPDX-License-Identifier: Apache-2.0
// The seam to the system's run loop: LWRunLoopWatch_cf.m on Apple's systems, LWRunLoopWatch_gnustep.m on
// GNUstep. The build chooses one.
#import <Foundation/Foundation.h>

#include "LWDispatches.h"

// Reports the activities of the calling thread's run loop to `dispatches`, for as long as the thread runs.
// `modes` are the names of its common modes, whose C strings must stay: see LWModeTag(). Returns NO if the
// system does not permit it; then no activity is ever reported.
BOOL LWWatchCurrentRunLoop(LWDispatches* dispatches, NSArray* modes);
// Names of the modes in which this system's loops handle events: default, event tracking, modal panel.
NSArray* LWCommonModes(void);
// The spool directory of a program that sets none; nil for the one that docs/configuration.md has.
NSString* LWDefaultSpoolDirectory(void);
