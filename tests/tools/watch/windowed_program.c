// SPDX-License-Identifier: Apache-2.0
// A client of an X server with a window, whose loop answers pings (_NET_WM_PING). After a second a handler
// computes and sleeps in turns for 2.5 s; afterwards it prints "done" and ends.
//
//   windowed_program frozen|served    whether the handler answers pings meanwhile
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xcb/xcb.h>

static xcb_connection_t* connection;
static xcb_screen_t* screen;
static xcb_atom_t ping;
static volatile unsigned long turns;

static double Now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static xcb_atom_t Atom(const char* name) {
  xcb_intern_atom_reply_t* reply =
      xcb_intern_atom_reply(connection, xcb_intern_atom(connection, 0, (uint16_t)strlen(name), name), NULL);
  const xcb_atom_t atom = reply->atom;
  free(reply);
  return atom;
}

static void ServeEvents(void) {
  for (xcb_generic_event_t* event; (event = xcb_poll_for_event(connection)) != NULL; free(event)) {
    xcb_client_message_event_t* message = (xcb_client_message_event_t*)event;
    if ((event->response_type & 0x7f) != XCB_CLIENT_MESSAGE || message->data.data32[0] != ping) continue;
    message->window = screen->root;
    xcb_send_event(connection, 0, screen->root,
                   XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY | XCB_EVENT_MASK_SUBSTRUCTURE_REDIRECT, (char*)message);
    xcb_flush(connection);
  }
}

static __attribute__((noinline)) void PauseInHandler(double seconds, int serves) {
  for (const double end = Now() + seconds; Now() < end;) {
    for (const double part = Now() + 0.004; Now() < part;) ++turns;
    usleep(2000);
    if (serves) ServeEvents();
  }
  ++turns;
}

static void Wait(double seconds) {
  struct pollfd descriptor = {xcb_get_file_descriptor(connection), POLLIN, 0};
  for (const double end = Now() + seconds; Now() < end;) {
    poll(&descriptor, 1, 20);
    ServeEvents();
  }
}

int main(int count, char** arguments) {
  connection = xcb_connect(NULL, NULL);
  if (count != 2 || xcb_connection_has_error(connection)) return 2;
  screen = xcb_setup_roots_iterator(xcb_get_setup(connection)).data;
  const xcb_window_t window = xcb_generate_id(connection);
  xcb_create_window(connection, 0, window, screen->root, 0, 0, 50, 50, 0, XCB_WINDOW_CLASS_INPUT_OUTPUT,
                    screen->root_visual, 0, NULL);
  ping = Atom("_NET_WM_PING");
  const uint32_t pid = (uint32_t)getpid();
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  xcb_change_property(connection, 0, window, Atom("WM_PROTOCOLS"), XCB_ATOM_ATOM, 32, 1, &ping);
  xcb_change_property(connection, 0, window, Atom("_NET_WM_PID"), XCB_ATOM_CARDINAL, 32, 1, &pid);
  xcb_change_property(connection, 0, window, XCB_ATOM_WM_CLIENT_MACHINE, XCB_ATOM_STRING, 8,
                      (uint32_t)strlen(host), host);
  xcb_map_window(connection, window);
  xcb_flush(connection);
  puts("begun");
  fflush(stdout);
  Wait(2);
  PauseInHandler(2.5, strcmp(arguments[1], "served") == 0);
  Wait(0.5);
  puts("done");
  return 0;
}
