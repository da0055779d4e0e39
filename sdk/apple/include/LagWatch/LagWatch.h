// SPDX-License-Identifier: Apache-2.0
// lagwatch for Objective-C and Swift; docs/apple.md has the start.
#import <LagWatch/LWLastExit.h>
#import <LagWatch/LWMonitor.h>
#import <LagWatch/LWOptions.h>
