// SPDX-License-Identifier: Apache-2.0
// For preloading into a command that traces threads. By its environment:
//
//   PTRACE_SPY=FILE           a line in the file whenever it lets a thread of another process continue: the
//                             scheduling policy of its own, and whether it has read mappings meanwhile
//   PTRACE_SPY_KILL=N         ends the command by SIGKILL after its Nth call of ptrace(2)
//   PTRACE_SPY_SIGNAL=NUMBER  sends the process this signal before the first of its threads is seized, and
//                             leaves it 300 ms
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

static int g_is_seized = 0;
static int g_has_read_mappings = 0;

// By which the C++ library opens files.
__attribute__((visibility("default"))) FILE* fopen64(const char* path, const char* mode) {
  static FILE* (*next)(const char*, const char*);
  if (!next) next = (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, "fopen64");
  const char* name = strrchr(path, '/');
  if (g_is_seized && name && strcmp(name, "/maps") == 0) g_has_read_mappings = 1;
  return next(path, mode);
}

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
  if (request == PTRACE_SEIZE) g_is_seized = result == 0;
  if (request == PTRACE_DETACH) g_is_seized = 0;
  if (++calls == NumberIn("PTRACE_SPY_KILL")) raise(SIGKILL);
  const char* path = getenv("PTRACE_SPY");
  FILE* file = request == PTRACE_DETACH && path ? fopen(path, "a") : NULL;
  if (file) {
    fprintf(file, "%s%s\n", policy == SCHED_FIFO ? "first in, first out" : "other",
            g_has_read_mappings ? ", mappings" : "");
    fclose(file);
    g_has_read_mappings = 0;
  }
  return result;
}
