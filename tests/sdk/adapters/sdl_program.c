/* SPDX-License-Identifier: Apache-2.0 */
#include <SDL.h>
#include <lagwatch/adapters/sdl.h>

#include "tests/sdk/adapters/planted.h"

PLANTED(HangInKey, "-")
PLANTED(HangInMotion, "-")
PLANTED(HangInUser, "-")

static Uint32 PushKey(Uint32 interval, void* data) {
  SDL_Event event = {.type = SDL_KEYDOWN};
  (void)interval, (void)data;
  SDL_PushEvent(&event);
  return 0;
}
static Uint32 PushMotion(Uint32 interval, void* data) {
  SDL_Event event = {.type = SDL_MOUSEMOTION};
  (void)interval, (void)data;
  SDL_PushEvent(&event);
  return 0;
}
static Uint32 PushUser(Uint32 interval, void* data) {
  SDL_Event event = {.type = SDL_USEREVENT};
  (void)interval, (void)data;
  SDL_PushEvent(&event);
  return 0;
}
static Uint32 PushQuit(Uint32 interval, void* data) {
  SDL_Event event = {.type = SDL_QUIT};
  (void)interval, (void)data;
  SDL_PushEvent(&event);
  return 0;
}

int main(int count, char** arguments) {
  SDL_Event event;
  lw_loop* loop;
  planted_start(count, arguments);
  SDL_setenv("SDL_VIDEODRIVER", "dummy", 1);
  if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER) != 0) return 1;
  loop = lw_watch_loop("game");
  SDL_AddTimer(300, &PushKey, NULL);
  SDL_AddTimer(1400, &PushMotion, NULL);
  SDL_AddTimer(2500, &PushUser, NULL);
  SDL_AddTimer(4000, &PushQuit, NULL);
  while (lw_sdl_wait_event(loop, &event) && event.type != SDL_QUIT) {
    if (event.type == SDL_KEYDOWN) HangInKey();
    if (event.type == SDL_MOUSEMOTION) HangInMotion();
    if (event.type == SDL_USEREVENT) HangInUser();
  }
  lw_unwatch_loop(loop);
  SDL_Quit();
  lw_stop(0);
  return 0;
}
