// SPDX-License-Identifier: Apache-2.0
// A program with a run loop and no user interface.
//
// Usage: apple_run_loop_program hangs|calm|frames SPOOL_DIRECTORY THRESHOLD_MS
#import <LagWatch/LagWatch.h>
#import <lagwatch/c.h>

#import "recipes.h"

static const int kHangMs = 1000;

@interface Program : NSObject {
  int _silentPipe[2];
  int _alwaysReadyPipe[2];
  double _readyUntil;
  unsigned long _turns;
}
@end

@implementation Program

- (instancetype)init {
  self = [super init];
  if (pipe(_silentPipe) != 0 || pipe(_alwaysReadyPipe) != 0 || write(_alwaysReadyPipe[1], "x", 1) != 1)
    return nil;
  return self;
}

// -- Hangs.

- (void)freezeInTimer {
  SleepMs(kHangMs);
  ++recipe_ends;
}

// Dispatches no events while it waits for its answer.
- (void)waitInPrivateMode {
  NSDate* end = [NSDate dateWithTimeIntervalSinceNow:kHangMs / 1000.0];
  [self call:@selector(step) after:0.1 mode:@"AnswerMode"];
  while ([end timeIntervalSinceNow] > 0) [[NSRunLoop currentRunLoop] runMode:@"AnswerMode" beforeDate:end];
  ++recipe_ends;
}

- (void)pollInHandler {
  struct pollfd descriptor = {.fd = _silentPipe[0], .events = POLLIN};
  poll(&descriptor, 1, kHangMs);
  ++recipe_ends;
}

// Inside a loop that a handler runs, as a panel does.
- (void)freezeInNestedLoop {
  [self call:@selector(freezeNested) after:0.05 mode:@"NSModalPanelRunLoopMode"];
  NSDate* end = [NSDate dateWithTimeIntervalSinceNow:kHangMs / 1000.0 + 0.2];
  while ([end timeIntervalSinceNow] > 0)
    [[NSRunLoop currentRunLoop] runMode:@"NSModalPanelRunLoopMode" beforeDate:end];
}

- (void)freezeNested {
  SleepMs(kHangMs);
  ++recipe_ends;
}

// -- Nothing that hangs.

- (void)step {
  ++recipe_ends;
}

- (void)runNested:(NSString*)mode {
  NSTimer* timer = [NSTimer timerWithTimeInterval:0.02
                                           target:self
                                         selector:@selector(step)
                                         userInfo:nil
                                          repeats:YES];
  [[NSRunLoop currentRunLoop] addTimer:timer forMode:mode];
  NSDate* end = [NSDate dateWithTimeIntervalSinceNow:kHangMs / 1000.0];
  while ([end timeIntervalSinceNow] > 0) [[NSRunLoop currentRunLoop] runMode:mode beforeDate:end];
  [timer invalidate];
}

- (void)runNestedDefault {
  [self runNested:NSDefaultRunLoopMode];
}
- (void)runNestedModal {
  [self runNested:@"NSModalPanelRunLoopMode"];
}
- (void)runNestedExtra {
  [self runNested:@"ToolMode"];
}

// Each turn finds more to do, so the loop never waits; it sleeps inside its turns.
- (void)neverWait {
  _readyUntil = [NSDate timeIntervalSinceReferenceDate] + kHangMs / 1000.0;
  [self workAgain];
}

- (void)workAgain {
  SleepMs(2);
  ++_turns;
  if ([NSDate timeIntervalSinceReferenceDate] < _readyUntil) [self call:@selector(workAgain) after:0];
}

// -- Frames: one of them is slow, and no hang.

- (void)drawFrame:(NSTimer*)timer {
  (void)timer;
  [LWMonitor beginFrame];
  [LWMonitor setScene:@"drawing"];
  if (++_turns == 20) [self drawSlowly];
}

- (void)drawSlowly {
  SleepMs(250);
  ++recipe_ends;
}

- (void)finish {
  if (recipe_ends == 0) exit(3);
  lw_stats stats;
  lw_stats_init(&stats);
  lw_get_stats(&stats);
  printf("turns %lu hangs %lu\n", _turns, (unsigned long)stats.hangs);
  exit(0);
}

- (void)runHangs {
  // Apart, because timers that are due in the same turn share a dispatch.
  [self call:@selector(freezeInTimer) after:0.1];
  [self call:@selector(waitInPrivateMode) after:1.3];
  [self call:@selector(pollInHandler) after:2.5];
  [self call:@selector(freezeInNestedLoop) after:3.7];
  [self call:@selector(finish) after:5.4];
}

- (void)runCalm {
  [self call:@selector(neverWait) after:0.05];
  [self call:@selector(runNestedDefault) after:1.2];
  [self call:@selector(runNestedModal) after:2.3];
  [self call:@selector(runNestedExtra) after:3.4];
  [self call:@selector(finish) after:5.2];  // idle for a second before
}

- (void)runFrames {
  [NSTimer scheduledTimerWithTimeInterval:1.0 / 60
                                   target:self
                                 selector:@selector(drawFrame:)
                                 userInfo:nil
                                  repeats:YES];
  [self call:@selector(finish) after:1.0];
}

@end

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  @autoreleasepool {
    LWOptions* options = [[LWOptions alloc] init];
    options.app = @"run-loop";
    options.spoolDirectory = @(argv[2]);
    options.thresholdMs = (NSUInteger)atoi(argv[3]);
    options.extraRunLoopModes = @[ @"ToolMode" ];
    if (![LWMonitor startWithOptions:options]) {
      fprintf(stderr, "the monitor is off: %s\n", [[LWMonitor whyOff] UTF8String]);
      return 1;
    }
    Program* program = [[Program alloc] init];
    NSString* scene = [@"run" stringByAppendingString:[@(argv[1]) capitalizedString]];
    [program performSelector:NSSelectorFromString(scene)];
    [[NSRunLoop currentRunLoop] run];
  }
  return 1;
}
