// SPDX-License-Identifier: Apache-2.0
// For preloading into a command that traces threads. By its environment:
//
//   PTRACE_SPY=FILE           notes the scheduling policy of the calling thread, a line in the file, whenever
//   it
//                             lets a thread of another process continue
//   PTRACE_SPY_KILL=N         ends the command by SIGKILL after its Nth call of ptrace(2)
//   PTRACE_SPY_SIGNAL=NUMBER  sends the process this signal before the first of its threads is seized, and
//                             leaves it 300 ms
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static int NumberIn(const char* name) {
  const char* text = getenv(name);
  return text ? atoi(text) : 0;
}

__attribute__((visibility("default"))) long ptrace(enum __ptrace_request request, ...) {
  static int calls = 0;
  static int seized = 0;
  va_list arguments;
  va_start(arguments, request);
  const long pid = va_arg(arguments, pid_t);
  void* address = va_arg(arguments, void*);
  void* data = va_arg(arguments, void*);
  va_end(arguments);
  const int policy = sched_getscheduler(0);
  const int number = NumberIn("PTRACE_SPY_SIGNAL");
  if (request == PTRACE_SEIZE && seized++ == 0 && number != 0) {
    kill((pid_t)pid, number);
    usleep(300000);
  }
  const long result = syscall(SYS_ptrace, request, pid, address, data);
  if (++calls == NumberIn("PTRACE_SPY_KILL")) raise(SIGKILL);
  const char* path = getenv("PTRACE_SPY");
  FILE* file = request == PTRACE_DETACH && path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s\n", policy == SCHED_FIFO ? "first in, first out" : "other");
    fclose(file);
  }
  return result;
}
