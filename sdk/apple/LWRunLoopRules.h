// SPDX-License-Identifier: Apache-2.0
// Decides from the activities of a run loop when dispatches begin and end. Has no clock and no system, so
// that the same rules hold for CFRunLoop's observers and for GNUstep's polls.
//
// A dispatch is the time from one wait of the run loop to the next. The rules:
//   - A loop that is always ready never waits: each turn of it ends the dispatch before and begins the next.
//   - A loop that runs inside a handler, as a modal panel does, dispatches events itself: its turns are
//     dispatches of their own, and so is the part of the handler before and after it.
//   - A loop that a handler runs in a mode of its own, for an answer that it waits for, dispatches no events:
//   it is
//     a part of the handler's dispatch.
//   - The time between two runs of the outermost loop belongs to a dispatch: AppKit handles events there.
// No rule depends on activities in pairs: an observer that is added in the middle of a turn, and an exception
// that leaves a nested loop, do no harm.
#ifndef LAGWATCH_APPLE_LWRUNLOOPRULES_H_
#define LAGWATCH_APPLE_LWRUNLOOPRULES_H_

// In the order of a turn; the names are those of CFRunLoopActivity.
typedef enum LWActivity {
  LWActivityEntry,
  LWActivityBeforeTimers,
  LWActivityBeforeSources,
  LWActivityBeforeWaiting,
  LWActivityAfterWaiting,
  LWActivityExit,
} LWActivity;

// Steps for the caller, in the order in which it takes them. Zero for none.
typedef enum LWSteps {
  LWStepEndFrame = 1,
  LWStepEndDispatch = 2,
  LWStepBeginDispatch = 4,
} LWSteps;

// Zeroed at first: outside of dispatches.
typedef struct LWRunLoopRules {
  int is_in_dispatch;
  int is_in_frame;
} LWRunLoopRules;

// Returns the steps for the begin of the watch, at any moment of a turn: the caller is in a dispatch.
unsigned LWRunLoopRulesStart(LWRunLoopRules* rules);
// Returns the steps that an activity causes. `is_common_mode`: the loop runs in a mode in which it handles
// events.
unsigned LWRunLoopRulesNext(LWRunLoopRules* rules, LWActivity activity, int is_common_mode);
// The program begins a frame, in a display link's callback. Returns 1 if the caller shall begin it; it ends
// when the turn does, because views lay out, draw and commit what they show at the turn's end.
int LWRunLoopRulesBeginFrame(LWRunLoopRules* rules);

#endif  // LAGWATCH_APPLE_LWRUNLOOPRULES_H_
