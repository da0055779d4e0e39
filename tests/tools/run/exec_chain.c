// SPDX-License-Identifier: Apache-2.0
// Starts another program in each of the ways that the C library has.
//
//   exec_chain [loop|freeze] FUNCTION PROGRAM ARGUMENTS…
//
// With `loop` it waits in a loop of its own before; with `freeze` it also computes for 600 ms after that. The
// functions that start a child wait for its end and return its exit code.
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static int ExitCodeOf(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 99;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static const char* Argument(char** arguments, int index) {
  for (int i = 0; i < index; ++i) {
    if (arguments[i] == NULL) return NULL;
  }
  return arguments[index];
}

int main(int argc, char** argv) {
  ++argv;
  if (argc > 1 && (strcmp(argv[0], "loop") == 0 || strcmp(argv[0], "freeze") == 0)) {
    for (int i = 0; i < 4; ++i) poll(NULL, 0, 10);
    const clock_t end = clock() + CLOCKS_PER_SEC * 6 / 10;
    while (strcmp(argv[0], "freeze") == 0 && clock() < end) {
    }
    ++argv;
  }
  const char* function = argv[0];
  char** arguments = argv + 1;
  const char* program = arguments[0];
  const char* a1 = Argument(arguments, 1);
  const char* a2 = Argument(arguments, 2);
  const char* a3 = Argument(arguments, 3);
  if (strcmp(function, "execve") == 0) execve(program, arguments, environ);
  if (strcmp(function, "execv") == 0) execv(program, arguments);
  if (strcmp(function, "execvp") == 0) execvp(program, arguments);
  if (strcmp(function, "execvpe") == 0) execvpe(program, arguments, environ);
  if (strcmp(function, "execl") == 0) execl(program, program, a1, a2, a3, (char*)NULL);
  if (strcmp(function, "execlp") == 0) execlp(program, program, a1, a2, a3, (char*)NULL);
  if (strcmp(function, "execle") == 0) execle(program, program, a1, a2, a3, (char*)NULL, environ);
  if (strcmp(function, "fexecve") == 0) fexecve(open(program, O_RDONLY | O_CLOEXEC), arguments, environ);
  if (strcmp(function, "execveat") == 0) execveat(AT_FDCWD, program, arguments, environ, 0);
  if (strcmp(function, "syscall") == 0) syscall(SYS_execve, program, arguments, environ);
  if (strcmp(function, "syscall_at") == 0) syscall(SYS_execveat, AT_FDCWD, program, arguments, environ, 0);
  char* const unreadable[] = {(char*)8, NULL};
  if (strcmp(function, "unreadable_text") == 0) execve(program, arguments, unreadable);
  if (strcmp(function, "unreadable_array") == 0) syscall(SYS_execve, program, arguments, 8L);
  pid_t child = 0;
  if (strcmp(function, "posix_spawn") == 0 &&
      posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0)
    return ExitCodeOf(child);
  if (strcmp(function, "posix_spawnp") == 0 &&
      posix_spawnp(&child, program, NULL, NULL, arguments, environ) == 0)
    return ExitCodeOf(child);
  if (strcmp(function, "vfork") == 0) {
    child = vfork();
    if (child == 0) {
      execv(program, arguments);
      _exit(97);
    }
    return ExitCodeOf(child);
  }
  if (strcmp(function, "fork") == 0) {
    child = fork();
    if (child == 0) {
      execvp(program, arguments);
      _exit(97);
    }
    return ExitCodeOf(child);
  }
  perror(function);
  return 1;
}
