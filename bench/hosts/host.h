// SPDX-License-Identifier: Apache-2.0
// Host programs for `scripts/bench hosts`: each does one thing that a monitor inside a program can spoil,
// prints what it saw, and hangs on purpose where its row says so. Its exit code and output are the same in
// every run.
#pragma once

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

// A dispatch of the main loop ends and the next one begins: poll(2) without descriptors.
void Tick(int ms);
void TickTimes(int count, int ms);
// Two turns, after which the thread has a loop.
void BeginLoop(void);
void PauseMs(int ms);
// The time, without floating-point numbers: some hosts trap them.
long NowMs(void);
struct timespec After(clockid_t clock, int ms);

// The hangs, each of which is to be reported with its function's name: 700 ms of computing, and of sleeping.
void HangComputing(void);
void HangSleeping(void);

// Each returns 3, the exit code of a host that got through: HangOnce computes in a dispatch, HangTwice sleeps
// in the next one, too, and Done prints "done".
int HangOnce(void);
int HangTwice(void);
int Done(void);

// Ends the process with a message when `result` is below 0.
int Checked(int result, const char* what);

// The number of open descriptors that the process itself sees.
int CountDescriptors(void);

// The exit code of a child, waited for; minus the signal that ended it. WaitInLoop ticks meanwhile.
int WaitFor(pid_t child);
int WaitInLoop(pid_t child, int ms);

// Memory that ends at a page that cannot be touched; another one is in front of its first page.
char* GuardedMemory(size_t size);

// Starts a thread that runs `run`, and ends the process when that is not possible.
unsigned long StartThread(void* (*run)(void*), void* argument);

struct Host {
  const char* name;
  int (*run)(void);
  const char* hangs;  // functions to be found in reports, separated by commas; "": no report is expected
  // "root": needs root; "blind": hangs may go unseen, but lagwatch must say so; "times=N": at least N reports
  const char* traits;
};

extern const struct Host kCancellationHosts[];
extern const struct Host kDescriptorHosts[];
extern const struct Host kEndingHosts[];
extern const struct Host kFaultHosts[];
extern const struct Host kFloatHosts[];
extern const struct Host kForkHosts[];
extern const struct Host kHandlerHosts[];
extern const struct Host kIdentityHosts[];
extern const struct Host kIdleHosts[];
extern const struct Host kLimitHosts[];
extern const struct Host kLoaderHosts[];
extern const struct Host kSeccompHosts[];
extern const struct Host kSignalHosts[];
extern const struct Host kThreadHosts[];
