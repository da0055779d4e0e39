// SPDX-License-Identifier: Apache-2.0
// Programs that end in every way, most of them in a hang.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static int ExitInHang(void) {
  BeginLoop();
  HangComputing();
  exit(4);
  return 0;
}
static int ReturnInHang(void) {
  BeginLoop();
  HangSleeping();
  return 5;
}
static int UnderscoreExitInHang(void) {
  BeginLoop();
  HangComputing();
  _exit(6);
}
static int QuickExitInHang(void) {
  BeginLoop();
  HangComputing();
  quick_exit(7);
}
static int AbortInHang(void) {
  BeginLoop();
  HangComputing();
  abort();
}
static int FaultInHang(void) {
  BeginLoop();
  HangComputing();
  raise(SIGSEGV);
  return 0;
}
static int KillItself(void) {
  BeginLoop();
  HangComputing();
  kill(getpid(), SIGKILL);
  return 0;
}

static void* ExitFromThread(void* unused) {
  PauseMs(900);
  exit(8);
  return NULL;
}
static int ExitElsewhere(void) {
  BeginLoop();
  StartThread(ExitFromThread, NULL);
  HangComputing();
  for (;;) Tick(1000);
  return 0;
}

static void* GoOnAlone(void* unused) {
  PauseMs(50);
  Tick(20);
  Tick(20);
  HangComputing();
  Tick(20);
  HangSleeping();
  Tick(20);
  puts("done");
  exit(3);
}
// The thread group's leader is a zombie from then on.
static int EndMainThread(void) {
  BeginLoop();
  StartThread(GoOnAlone, NULL);
  pthread_exit(NULL);
  return 0;
}

static void SayEnd(void) { puts("at exit"); }
static int RunExitHandlers(void) {
  atexit(SayEnd);
  BeginLoop();
  return 9;
}

const struct Host kEndingHosts[] = {
    {"exit_in_hang", ExitInHang, "HangComputing", "ended"},
    {"return_in_hang", ReturnInHang, "HangSleeping", "ended"},
    {"_exit_in_hang", UnderscoreExitInHang, "HangComputing", ""},
    {"quick_exit_in_hang", QuickExitInHang, "HangComputing", ""},
    {"abort_in_hang", AbortInHang, "HangComputing", ""},
    {"fault_in_hang", FaultInHang, "HangComputing", ""},
    {"kill_itself", KillItself, "HangComputing", ""},
    {"exit_elsewhere", ExitElsewhere, "HangComputing", ""},
    {"end_main_thread", EndMainThread, "HangComputing,HangSleeping", "all"},
    {"run_exit_handlers", RunExitHandlers, "", ""},
    {NULL, NULL, NULL, NULL},
};
