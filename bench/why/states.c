// SPDX-License-Identifier: Apache-2.0
// states WAY [PATH]: freezes at once, in a function and for a reason that the kernel knows.
#define _GNU_SOURCE
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The parent of vfork(2) sleeps until its child has ended.
__attribute__((noinline)) static void RunHelper(void) {
  if (vfork() == 0) {
    sleep(8);
    _exit(0);
  }
}

// Creates a file where the file system takes no changes.
__attribute__((noinline)) static void SaveSettings(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT, 0600);
  if (file < 0 || write(file, "1", 1) != 1) perror(path);
}

__attribute__((noinline)) static void FindServer(void) {
  struct addrinfo* found = NULL;
  if (getaddrinfo("server.example.test", "http", NULL, &found) == 0) freeaddrinfo(found);
}

__attribute__((noinline)) static unsigned ComputeChecksum(void) {
  volatile unsigned sum = 1;
  while (sum != 0) sum = sum * 3 + 2;
  return sum;
}

// Has more memory than it may keep, and uses all of it.
__attribute__((noinline)) static void WalkTable(void) {
  const size_t size = 96 << 20;
  volatile char* table = malloc(size);
  for (;;)
    for (size_t i = 0; i < size; i += 4096) ++table[i];
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  if (strcmp(way, "vfork") == 0) RunHelper();
  if (strcmp(way, "save") == 0 && argc > 2) SaveSettings(argv[2]);
  if (strcmp(way, "lookup") == 0) FindServer();
  if (strcmp(way, "compute") == 0) ComputeChecksum();
  if (strcmp(way, "walk") == 0) WalkTable();
  pause();
  return 0;
}
