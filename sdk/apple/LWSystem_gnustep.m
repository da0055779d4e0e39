// SPDX-License-Identifier: Apache-2.0
#import "LWSystem.h"

NSArray* LWCommonModes(void) {
  return @[ NSDefaultRunLoopMode, @"NSEventTrackingRunLoopMode", @"NSModalPanelRunLoopMode" ];
}

NSString* LWDefaultSpoolDirectory(void) { return nil; }

void LWStartFrames(LWDispatches* dispatches) { (void)dispatches; }

void LWPostHangDiagnostics(NSURL* url, NSString* authorization, NSString* app, NSString* user) {
  (void)url, (void)authorization, (void)app, (void)user;
}
