// SPDX-License-Identifier: Apache-2.0
// Activities from CFRunLoop's observers. Has never run on a device: keep it small, and decisions in
// LWRunLoopRules.
#import <CoreFoundation/CoreFoundation.h>

#import "LWRunLoopWatch.h"

// An observer's context: one for each mode, so that a dispatch has its mode as the tag without a question to
// the loop.
typedef struct LWObservedMode {
  LWDispatches* dispatches;
  const char* tag;
} LWObservedMode;

static void Observe(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void* info) {
  (void)observer;
  const LWObservedMode* mode = (const LWObservedMode*)info;
  LWActivity seen = LWActivityEntry;
  if (activity == kCFRunLoopBeforeTimers) seen = LWActivityBeforeTimers;
  if (activity == kCFRunLoopBeforeSources) seen = LWActivityBeforeSources;
  if (activity == kCFRunLoopBeforeWaiting) seen = LWActivityBeforeWaiting;
  if (activity == kCFRunLoopAfterWaiting) seen = LWActivityAfterWaiting;
  if (activity == kCFRunLoopExit) seen = LWActivityExit;
  LWDispatchesActivity(mode->dispatches, seen, mode->tag);
}

static void AddObserver(CFStringRef mode, CFOptionFlags activities, CFIndex order, LWObservedMode* observed) {
  CFRunLoopObserverContext context = {.info = observed};
  CFRunLoopObserverRef observer =
      CFRunLoopObserverCreate(kCFAllocatorDefault, activities, true, order, Observe, &context);
  CFRunLoopAddObserver(CFRunLoopGetCurrent(), observer, mode);
  CFRelease(observer);
}

BOOL LWWatchCurrentRunLoop(LWDispatches* dispatches, NSArray* modes) {
  for (NSString* name in modes) {
    LWObservedMode* observed = malloc(sizeof *observed);  // stays, as the loop does
    if (observed == NULL) return NO;
    *observed = (LWObservedMode){dispatches, strdup([name UTF8String])};
    CFStringRef mode = CFStringCreateWithCString(kCFAllocatorDefault, observed->tag, kCFStringEncodingUTF8);
    // The dispatch encloses the other observers: Core Animation commits frames in one of BeforeWaiting.
    AddObserver(mode,
                kCFRunLoopEntry | kCFRunLoopBeforeTimers | kCFRunLoopBeforeSources | kCFRunLoopAfterWaiting,
                LONG_MIN, observed);
    AddObserver(mode, kCFRunLoopBeforeWaiting | kCFRunLoopExit, LONG_MAX, observed);
    CFRelease(mode);
  }
  return YES;
}
