/* SPDX-License-Identifier: Apache-2.0 */
#include <SDL.h>
#include <lagwatch/adapters/sdl.h>

#include "rounds.h"

static lw_loop* loop;

static void Run(long dispatches) {
  SDL_Event event = {.type = SDL_USEREVENT};
  for (long i = 0; i < dispatches; ++i) {
    SDL_PushEvent(&event);
    if (loop != NULL)
      lw_sdl_wait_event(loop, &event);
    else
      SDL_WaitEvent(&event);
  }
}

int main(int count, char** arguments) {
  (void)count;
  SDL_setenv("SDL_VIDEODRIVER", "dummy", 1);
  if (SDL_Init(SDL_INIT_VIDEO) != 0) return 1;
  if (rounds_start(arguments)) loop = lw_watch_loop("game");
  return rounds_measure(&Run);
}
