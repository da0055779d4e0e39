/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>
#include <signal.h>
#include <unistd.h>
#define LW_EPOLL_IMPLEMENTATION
#include <lagwatch/adapters/libevent.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInTimer, "-")
PLANTED(HangInReader, "-")
PLANTED(HangInSignal, "-")
PLANTED(HangInActivated, "-")

static struct event_base* base;
static int ends[2];

static void OnTimer(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  HangInTimer();
}
static void OnReadable(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  HangInReader();
}
static void OnSignal(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  HangInSignal();
}
static void OnActivated(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  HangInActivated();
}
static void Write(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  if (write(ends[1], "x", 1) != 1) abort();
}
static void Raise(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  raise(SIGUSR1);
}
static void Activate(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what;
  event_active(data, EV_TIMEOUT, 0);
}
static void Quit(evutil_socket_t fd, short what, void* data) {
  (void)fd, (void)what, (void)data;
  event_base_loopbreak(base);
}

static void After(int ms, event_callback_fn callback, void* data) {
  const struct timeval time = {ms / 1000, ms % 1000 * 1000L};
  event_base_once(base, -1, EV_TIMEOUT, callback, data, &time);
}

int main(int count, char** arguments) {
  struct event* reader;
  struct event* on_signal;
  struct event* activated;
  planted_start(count, arguments);
  base = event_base_new();
  lw_event_watch(base, "main");
  if (pipe(ends) != 0) return 1;
  reader = event_new(base, ends[0], EV_READ, &OnReadable, NULL);
  event_add(reader, NULL);
  on_signal = evsignal_new(base, SIGUSR1, &OnSignal, NULL);
  event_add(on_signal, NULL);
  activated = event_new(base, -1, EV_PERSIST, &OnActivated, NULL);
  After(100, &OnTimer, NULL);
  After(1200, &Write, NULL);
  After(2300, &Raise, NULL);
  After(3400, &Activate, activated);
  After(4800, &Quit, NULL);
  event_base_dispatch(base);
  lw_epoll_unwatch();
  lw_stop(0);
  return 0;
}
