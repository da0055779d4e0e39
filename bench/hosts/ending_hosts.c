// SPDX-License-Identifier: Apache-2.0
// Programs that end in every way, most of them in a hang.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/hosts/host.h"

static void Begin(void) {
  Tick(10);
  Tick(10);
}

static int ExitInHang(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangComputing();
  exit(4);
  return 0;
}
static int ReturnInHang(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangSleeping();
  return 5;
}
static int UnderscoreExitInHang(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangComputing();
  _exit(6);
}
static int QuickExitInHang(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangComputing();
  quick_exit(7);
}
static int AbortInHang(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangComputing();
  abort();
}
static int FaultInHang(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangComputing();
  raise(SIGSEGV);
  return 0;
}
static int KillItself(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  HangComputing();
  kill(getpid(), SIGKILL);
  return 0;
}

static void* ExitFromThread(void* unused) {
  (void)unused;
  PauseMs(900);
  exit(8);
  return NULL;
}
static int ExitElsewhere(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  StartThread(ExitFromThread, NULL);
  HangComputing();
  for (;;) Tick(1000);
  return 0;
}

static void* GoOnAlone(void* unused) {
  (void)unused;
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
static int EndMainThread(int count, char** arguments) {
  (void)count;
  (void)arguments;
  Begin();
  StartThread(GoOnAlone, NULL);
  pthread_exit(NULL);
  return 0;
}

static void SayEnd(void) { puts("at exit"); }
static int RunExitHandlers(int count, char** arguments) {
  (void)count;
  (void)arguments;
  atexit(SayEnd);
  Begin();
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
