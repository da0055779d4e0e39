// SPDX-License-Identifier: Apache-2.0
// Shared by the test programs of the binding: delays that reports name, and short ways to timers.
#import <Foundation/Foundation.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile int recipe_ends;

static __attribute__((noinline)) void SleepMs(int ms) {
  const struct timespec time = {ms / 1000, (ms % 1000) * 1000000L};
  nanosleep(&time, NULL);
  ++recipe_ends;
}

@interface NSObject (Recipes)
- (void)call:(SEL)method after:(double)seconds;
- (void)call:(SEL)method after:(double)seconds mode:(NSString*)mode;
@end

@implementation NSObject (Recipes)
- (void)call:(SEL)method after:(double)seconds {
  [self call:method after:seconds mode:NSDefaultRunLoopMode];
}
- (void)call:(SEL)method after:(double)seconds mode:(NSString*)mode {
  [self performSelector:method withObject:nil afterDelay:seconds inModes:[NSArray arrayWithObject:mode]];
}
@end
