// SPDX-License-Identifier: Apache-2.0
// A loop beside threads that allocate, load libraries, fork and start threads all the time. Prints "tick" ten
// times a second, and "child failed" if a child did not end well.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void* Allocate(void* context) {
  void* blocks[64] = {0};
  for (unsigned i = 0;; ++i) {
    free(blocks[i % 64]);
    blocks[i % 64] = malloc(16 + (i * 37) % 20000);
    if (i % 64 == 0) usleep(100);
  }
  return context;
}

static void* Load(void* context) {
  while (1) {
    void* library = dlopen("libm.so.6", RTLD_NOW);
    void* other = dlopen("libresolv.so.2", RTLD_NOW);
    if (other != NULL) dlclose(other);
    if (library != NULL) dlclose(library);
    usleep(500);
  }
  return context;
}

static void* Fork(void* context) {
  while (1) {
    const pid_t child = fork();
    if (child == 0) {
      free(malloc(100));
      _exit(0);
    }
    int status = 1;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) puts("child failed");
    usleep(3000);
  }
  return context;
}

static void* End(void* context) { return context; }

static void* StartThreads(void* context) {
  while (1) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, End, NULL) == 0) pthread_join(thread, NULL);
    usleep(1000);
  }
  return context;
}

int main(void) {
  void* (*const kinds[])(void*) = {Allocate, Allocate, Load, Fork, StartThreads};
  pthread_t thread;
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; ++i) pthread_create(&thread, NULL, kinds[i], NULL);
  for (unsigned i = 0;; ++i) {
    poll(NULL, 0, 20);
    if (i % 5 == 0) {
      puts("tick");
      fflush(stdout);
    }
  }
}
