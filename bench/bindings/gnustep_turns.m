// SPDX-License-Identifier: Apache-2.0
// Prints the time that the binding adds to a turn of GNUstep's run loop, and the time of a turn without it,
// in nanoseconds. In each turn the loop waits for a pipe that is ready. Each figure is the least of many
// rounds: on a shared machine, noise only adds.
//
// Usage: bench_gnustep_turns SPOOL_DIRECTORY
#import <LagWatch/LagWatch.h>
#import <stdio.h>
#import <time.h>
#import <unistd.h>

enum { kRounds = 300, kTurnsPerRound = 1000 };

@interface Turns : NSObject <RunLoopEvents> {
  unsigned long _events;
}
@end

@implementation Turns

- (void)receivedEvent:(void*)data type:(RunLoopEventType)type extra:(void*)extra forMode:(NSString*)mode {
  (void)data, (void)type, (void)extra, (void)mode;
  ++_events;
}

static double NowNs(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

- (double)leastTurnNs {
  NSRunLoop* loop = [NSRunLoop currentRunLoop];
  NSDate* end = [NSDate distantFuture];
  double least_ns = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    @autoreleasepool {
      const double begin_ns = NowNs();
      for (int turn = 0; turn < kTurnsPerRound; ++turn) [loop runMode:NSDefaultRunLoopMode beforeDate:end];
      const double turn_ns = (NowNs() - begin_ns) / kTurnsPerRound;
      if (turn_ns < least_ns) least_ns = turn_ns;
    }
  }
  return least_ns;
}

- (BOOL)hasEvents {
  return _events >= 2UL * kRounds * kTurnsPerRound;
}

@end

int main(int argc, char** argv) {
  int ready_pipe[2];
  if (argc != 2 || pipe(ready_pipe) != 0 || write(ready_pipe[1], "x", 1) != 1) return 2;
  @autoreleasepool {
    Turns* turns = [[Turns alloc] init];
    [[NSRunLoop currentRunLoop] addEvent:(void*)(intptr_t)ready_pipe[0]
                                    type:ET_RDESC
                                 watcher:turns
                                 forMode:NSDefaultRunLoopMode];
    const double bare_ns = [turns leastTurnNs];
    LWOptions* options = [[LWOptions alloc] init];
    options.spoolDirectory = @(argv[1]);
    if (![LWMonitor startWithOptions:options]) return 1;
    const double watched_ns = [turns leastTurnNs];
    [LWMonitor stop];
    if (![turns hasEvents]) return 1;
    printf("%.0f %.0f\n", watched_ns - bare_ns, bare_ns);
  }
  return 0;
}
