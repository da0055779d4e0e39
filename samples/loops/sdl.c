/* SPDX-License-Identifier: Apache-2.0 */
/* A loop of SDL that waits for events, one of which blocks it. */
#include <SDL.h>
#include <lagwatch/adapters/sdl.h>

static Uint32 PushKey(Uint32 interval, void* data) {
  SDL_Event event = {.type = SDL_KEYDOWN};
  (void)interval, (void)data;
  SDL_PushEvent(&event);
  return 0;
}

int main(int count, char** arguments) {
  (void)count, (void)arguments;
  lw_options options;
  lw_options_init(&options);
  options.app = "sdl-sample";
  lw_start(&options);
  SDL_setenv("SDL_VIDEODRIVER", "dummy", 0);
  if (SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER) != 0) return 1;
  lw_loop* loop = lw_watch_loop("main");
  SDL_AddTimer(100, &PushKey, NULL);
  SDL_Event event;
  while (lw_sdl_wait_event(loop, &event) && event.type != SDL_KEYDOWN) continue;
  SDL_Delay(3000);
  lw_stop(0);
  SDL_Quit();
  return 0;
}
