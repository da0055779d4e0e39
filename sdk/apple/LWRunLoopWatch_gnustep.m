// SPDX-License-Identifier: Apache-2.0
// Activities from GNUstep's polls: its run loop has no observers, but each turn of it calls poll(2) once, in
// one method. A poll that waits is a wait of the loop, one that does not is the border of two turns.
#import <dlfcn.h>
#import <errno.h>
#import <objc/runtime.h>
#import <poll.h>
#import <stdint.h>
#import <string.h>

#import "LWRunLoopWatch.h"

typedef int (*Poll)(struct pollfd*, nfds_t, int);

enum { kMaxModes = 16 };

// The common modes and the tags of their dispatches. Written once, before the first loop is watched.
static int mode_count;
static __unsafe_unretained NSString* modes_by_name[kMaxModes];
static const char* mode_tags[kMaxModes];
static NSArray* kept_modes;

// The code of the method that polls.
static uintptr_t poll_method_begin;
static uintptr_t poll_method_end;

static Poll next_poll;

// The calling thread's loop, if it is watched.
static __thread LWDispatches* watched __attribute__((tls_model("initial-exec")));
static __thread __unsafe_unretained NSRunLoop* watched_loop __attribute__((tls_model("initial-exec")));

// Returns the tag of the mode that the loop runs in; NULL if it is not a common one.
static const char* CurrentModeTag(void) {
  NSString* mode = [watched_loop currentMode];
  for (int i = 0; i < mode_count; ++i)
    if (modes_by_name[i] == mode) return mode_tags[i];
  for (int i = 0; i < mode_count; ++i)
    if ([modes_by_name[i] isEqualToString:mode]) return mode_tags[i];
  return NULL;
}

static BOOL IsRunLoopsPoll(const void* caller) {
  return (uintptr_t)caller > poll_method_begin && (uintptr_t)caller <= poll_method_end;
}

// In front of the C library's. Polls of X11's library, and of a handler, are a part of the dispatch.
__attribute__((visibility("default"))) int poll(struct pollfd* descriptors, nfds_t count, int timeout_ms) {
  if (next_poll == NULL) next_poll = (Poll)dlsym(RTLD_NEXT, "poll");
  LWDispatches* const dispatches = watched;
  if (dispatches == NULL || !IsRunLoopsPoll(__builtin_return_address(0)))
    return next_poll(descriptors, count, timeout_ms);
  const char* tag = CurrentModeTag();
  if (timeout_ms == 0) {
    LWDispatchesActivity(dispatches, LWActivityBeforeTimers, tag);
    return next_poll(descriptors, count, 0);
  }
  LWDispatchesActivity(dispatches, LWActivityBeforeWaiting, tag);
  const int ready = next_poll(descriptors, count, timeout_ms);
  const int error = errno;
  LWDispatchesActivity(dispatches, LWActivityAfterWaiting, tag);
  errno = error;
  return ready;
}

// Moves *end down to the first method of the class that begins after `begin`.
static void LimitToNextMethod(Class methods_class, uintptr_t begin, uintptr_t* end) {
  unsigned count = 0;
  Method* methods = class_copyMethodList(methods_class, &count);
  for (unsigned i = 0; i < count; ++i) {
    const uintptr_t other = (uintptr_t)method_getImplementation(methods[i]);
    if (other > begin && other < *end) *end = other;
  }
  free(methods);
}

// The methods of one source file lie side by side: the one that polls ends where the next one begins.
static BOOL FindPollMethod(void) {
  Class context_class = NSClassFromString(@"GSRunLoopCtxt");
  SEL selector = NSSelectorFromString(@"pollUntil:within:");
  Method method = context_class == Nil ? NULL : class_getInstanceMethod(context_class, selector);
  if (method == NULL) return NO;
  poll_method_begin = (uintptr_t)method_getImplementation(method);
  poll_method_end = poll_method_begin + 16384;
  Class neighbours[] = {context_class, object_getClass(context_class), [NSRunLoop class],
                        object_getClass([NSRunLoop class])};
  for (int i = 0; i < 4; ++i) LimitToNextMethod(neighbours[i], poll_method_begin, &poll_method_end);
  return YES;
}

BOOL LWWatchCurrentRunLoop(LWDispatches* dispatches, NSArray* modes) {
  if (!FindPollMethod()) return NO;
  kept_modes = [modes copy];
  for (NSString* mode in kept_modes) {
    if (mode_count == kMaxModes) break;
    mode_tags[mode_count] = strdup([mode UTF8String]);
    modes_by_name[mode_count++] = mode;
  }
  watched_loop = [NSRunLoop currentRunLoop];
  watched = dispatches;
  return YES;
}
