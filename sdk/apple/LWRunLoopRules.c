// SPDX-License-Identifier: Apache-2.0
#include "LWRunLoopRules.h"

static unsigned EndSteps(LWRunLoopRules* rules) {
  unsigned steps = 0;
  if (rules->is_in_frame) steps |= LWStepEndFrame;
  if (rules->is_in_dispatch) steps |= LWStepEndDispatch;
  rules->is_in_frame = 0;
  rules->is_in_dispatch = 0;
  return steps;
}

static unsigned NextSteps(LWRunLoopRules* rules) {
  const unsigned steps = EndSteps(rules) | LWStepBeginDispatch;
  rules->is_in_dispatch = 1;
  return steps;
}

unsigned LWRunLoopRulesStart(LWRunLoopRules* rules) { return NextSteps(rules); }

unsigned LWRunLoopRulesNext(LWRunLoopRules* rules, LWActivity activity, int is_common_mode) {
  if (!is_common_mode) return 0;
  switch (activity) {
    case LWActivityEntry:
    case LWActivityBeforeTimers:
    case LWActivityAfterWaiting:
    case LWActivityExit:
      return NextSteps(rules);
    case LWActivityBeforeSources:
      return rules->is_in_dispatch ? 0 : NextSteps(rules);
    case LWActivityBeforeWaiting:
      return EndSteps(rules);
  }
  return 0;
}

int LWRunLoopRulesBeginFrame(LWRunLoopRules* rules) {
  if (rules->is_in_frame) return 0;
  rules->is_in_frame = 1;
  return 1;
}
