// SPDX-License-Identifier: Apache-2.0
// For preloading: notes the scheduling policy of the calling thread, a line in the file PTRACE_SPY, whenever
// it lets a thread of another process continue.
#define _GNU_SOURCE
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) long ptrace(enum __ptrace_request request, ...) {
  va_list arguments;
  va_start(arguments, request);
  const long pid = va_arg(arguments, pid_t);
  void* address = va_arg(arguments, void*);
  void* data = va_arg(arguments, void*);
  va_end(arguments);
  const int policy = sched_getscheduler(0);
  const long result = syscall(SYS_ptrace, request, pid, address, data);
  const char* path = getenv("PTRACE_SPY");
  FILE* file = request == PTRACE_DETACH && path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s\n", policy == SCHED_FIFO ? "first in, first out" : "other");
    fclose(file);
  }
  return result;
}
