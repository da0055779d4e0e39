// SPDX-License-Identifier: Apache-2.0
#import <LagWatch/LWMonitor.h>
#import <lagwatch/c.h>

#import "LWAppEvents.h"
#import "LWDispatches.h"
#import "LWHangDiagnostics.h"
#import "LWOptionValues.h"
#import "LWRunLoopWatch.h"
#import "LWSystem.h"

// The main run loop. Watched from the first start on, for as long as the process runs.
static LWDispatches main_dispatches;
static BOOL is_watching;

@implementation LWMonitor

+ (BOOL)startWithOptions:(LWOptions*)given {
  if (![NSThread isMainThread]) {
    [self performSelectorOnMainThread:@selector(startWithOptions:) withObject:given waitUntilDone:YES];
    return [[self whyOff] length] == 0;
  }
  @autoreleasepool {
    LWOptions* options = given ?: [[LWOptions alloc] init];
    const lw_options raw = [options raw];
    lw_start(&raw);
    if (!is_watching) {
      is_watching = YES;
      NSArray* modes = [LWCommonModes() arrayByAddingObjectsFromArray:options.extraRunLoopModes];
      if (LWWatchCurrentRunLoop(&main_dispatches, modes))
        LWDispatchesStart(&main_dispatches, "main", "launch");
      [LWAppEvents start];
    }
    if (options.watchesFrames) LWStartFrames(&main_dispatches);
    if (lw_why_off()[0] != '\0') return NO;
    [self postHangDiagnosticsWithOptions:options];
    return YES;
  }
}

// Reports that are to be sealed leave the machine only as the library sends them.
+ (void)postHangDiagnosticsWithOptions:(LWOptions*)options {
  NSURL* url = LWEnvelopeUrl(options.endpoint);
  if (!options.readsMetricKit || url == nil || [[options valueForOption:@"seal_key"] length] > 0) return;
  LWPostHangDiagnostics(url, LWEnvelopeAuthorization(options.key), options.app, options.user);
}

+ (void)stopWithFlushTimeoutMs:(NSUInteger)timeoutMs {
  lw_stop((uint32_t)(timeoutMs < UINT32_MAX ? timeoutMs : UINT32_MAX));
}

+ (void)stop {
  lw_stop(0);
}

+ (NSString*)whyOff {
  return [NSString stringWithUTF8String:lw_why_off()] ?: @"";
}

+ (void)setScene:(NSString*)scene {
  lw_set_scene([scene UTF8String]);
}

+ (BOOL)setValue:(NSString*)value forFact:(NSString*)key {
  return lw_set_value([key UTF8String], [value UTF8String]) != 0;
}

+ (void)ready {
  lw_ready();
}

+ (void)beginFrame {
  if (is_watching && [NSThread isMainThread]) LWDispatchesBeginFrame(&main_dispatches, 0);
}

+ (BOOL)dump:(NSString*)reason {
  return lw_dump_now([reason UTF8String]) != 0;
}

+ (LWLastExit*)lastExit {
  lw_last_exit found;
  lw_last_exit_init(&found);
  if (!lw_get_last_exit(&found)) return nil;
  @synchronized(self) {
    static LWLastExit* last_exit;  // does not change while the program runs
    if (last_exit == nil) last_exit = [[LWLastExit alloc] init];
    return last_exit;
  }
}

+ (BOOL)setConsent:(BOOL)isGiven {
  return lw_set_consent(isGiven ? LW_CONSENT_GIVEN : LW_CONSENT_NOT_GIVEN) != LW_OFF;
}

@end
