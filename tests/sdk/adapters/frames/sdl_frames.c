/* SPDX-License-Identifier: Apache-2.0 */
/* Draws 100 frames, of which 10 take 60 ms, with the window of numbers, and prints what it shows; then two
 * more in a scope. With an argument it saves a picture there. */
#include <SDL.h>
#include <lagwatch/adapters/frames_sdl.h>

static lw_frames frames;

static void Print(void) {
  char lines[LW_FRAMES_LINES][LW_FRAMES_LINE_BYTES];
  lw_frames_text(&frames, lines);
  for (int i = 0; i < LW_FRAMES_LINES; ++i) puts(lines[i]);
}

int main(int count, char** arguments) {
  SDL_setenv("SDL_VIDEODRIVER", "dummy", 0);
  if (SDL_Init(SDL_INIT_VIDEO) != 0) return 1;
  SDL_Surface* surface = SDL_CreateRGBSurfaceWithFormat(0, 480, 120, 32, SDL_PIXELFORMAT_ARGB8888);
  SDL_Renderer* renderer = SDL_CreateSoftwareRenderer(surface);
  if (renderer == NULL) return 1;
  for (int i = 0; i < 100; ++i) {
    lw_frames_begin(&frames, NULL);
    SDL_SetRenderDrawColor(renderer, 40, 80, 160, 255);
    SDL_RenderClear(renderer);
    lw_frames_draw(&frames, renderer, 8, 8, 2);
    if (i % 10 == 9) SDL_Delay(60);
    lw_frames_end(&frames, NULL);
    SDL_RenderPresent(renderer);
  }
  Print();
  if (count > 1 && SDL_SaveBMP(surface, arguments[1]) != 0) return 1;
  const Uint32* pixels = surface->pixels;
  int white = 0;
  for (int i = 0; i < 480 * 120; ++i) white += (pixels[i] & 0xffffff) == 0xffffff;
  printf("drawn %d\n", white > 100);
  lw_frames_scope(&frames, "list", "scroll");
  for (int i = 0; i < 2; ++i) {
    lw_frames_begin(&frames, NULL);
    lw_frames_end(&frames, NULL);
  }
  Print();
  SDL_DestroyRenderer(renderer);
  SDL_FreeSurface(surface);
  SDL_Quit();
  return 0;
}
