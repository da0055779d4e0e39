// SPDX-License-Identifier: Apache-2.0
// A service that notifies systemd's watchdog, without a loop, and freezes.
//
// Usage: notifying_service HOW COUNT. Sends "WATCHDOG=1" so many times, every 200 ms, by HOW: sendmsg, sendto,
// whole (sendto with all of the address's structure) or connected (send on a connected socket). Then it sleeps
// in FreezeService().
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int manager;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static socklen_t address_bytes;

static void Notify(const char* how, const char* text) {
  ssize_t sent;
  if (strcmp(how, "sendmsg") == 0) {
    struct iovec piece = {(void*)text, strlen(text)};
    const struct msghdr message = {
        .msg_name = &address, .msg_namelen = address_bytes, .msg_iov = &piece, .msg_iovlen = 1};
    sent = sendmsg(manager, &message, MSG_NOSIGNAL);
  } else if (strcmp(how, "connected") != 0) {
    sent = sendto(manager, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr*)&address, address_bytes);
  } else {
    sent = send(manager, text, strlen(text), MSG_NOSIGNAL);
  }
  if (sent != (ssize_t)strlen(text)) exit(3);
}

static __attribute__((noinline)) void FreezeService(void) {
  for (;;) sleep(60);
}

int main(int count, char** words) {
  if (count != 3) return 2;
  const char* path = getenv("NOTIFY_SOCKET");
  const size_t size = strlen(path);
  memcpy(address.sun_path, path, size);
  if (path[0] == '@') address.sun_path[0] = '\0';
  address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
  if (strcmp(words[1], "whole") == 0) address_bytes = sizeof address;
  unsetenv("NOTIFY_SOCKET");  // as sd_notify(3) does if it is asked to
  unsetenv("WATCHDOG_USEC");
  manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (connect(manager, (struct sockaddr*)&address, address_bytes) != 0) return 3;
  if (strcmp(words[1], "connected") != 0) manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  Notify(words[1], "READY=1\nSTATUS=WATCHDOG=1 comes next");
  for (int i = 0; i < atoi(words[2]); ++i) {
    Notify(words[1], "STATUS=well\nWATCHDOG=1");
    const struct timespec pause = {0, 200000000};
    nanosleep(&pause, NULL);
  }
  FreezeService();
}
