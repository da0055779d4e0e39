// SPDX-License-Identifier: Apache-2.0
// The seam to all else that differs between systems: LWSystem_apple.m and LWSystem_gnustep.m. The build
// chooses one.
#import <Foundation/Foundation.h>

#include "LWDispatches.h"

// Names of the modes in which this system's loops handle events: default, event tracking, modal panel.
NSArray* LWCommonModes(void);
// The spool directory of a program that sets none; nil for the one that docs/configuration.md has.
NSString* LWDefaultSpoolDirectory(void);
// Begins a frame at each refresh of the display, from now on, if the system has display links.
void LWStartFrames(LWDispatches* dispatches);
// Has MetricKit's payloads of hangs posted, from now on, on systems that have it; see LWHangDiagnostics.h.
// Once in a process.
void LWPostHangDiagnostics(NSURL* url, NSString* authorization, NSString* app, NSString* user);
