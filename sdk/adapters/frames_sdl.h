/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the numbers of frames.h into an SDL 2 or 3 renderer, in debug builds. Header only; include SDL's
 * header first. It has a font of its own, of 3 by 5 points, so that no library is needed. The frame ends
 * before SDL_RenderPresent(), which with vsync waits for the display.
 *
 *   lw_frames_begin(&frames, loop);
 *   Draw(renderer);
 *   lw_frames_draw(&frames, renderer, 8, 8, 2);
 *   lw_frames_end(&frames, loop);
 *   SDL_RenderPresent(renderer); */
#ifndef LAGWATCH_ADAPTERS_FRAMES_SDL_H_
#define LAGWATCH_ADAPTERS_FRAMES_SDL_H_

#include <lagwatch/adapters/frames.h>

#if SDL_MAJOR_VERSION >= 3
typedef SDL_FRect lw_frames_rect;
#else
typedef SDL_Rect lw_frames_rect;
#endif

/* The rows of a letter, from the top, three points each. */
static inline const char* lw_frames_glyph(char letter) {
  switch (letter) {
    case '0':
      return "75557";
    case '1':
      return "26227";
    case '2':
      return "71747";
    case '3':
      return "71717";
    case '4':
      return "55711";
    case '5':
      return "74717";
    case '6':
      return "74757";
    case '7':
      return "71222";
    case '8':
      return "75757";
    case '9':
      return "75717";
    case 'a':
      return "03577";
    case 'b':
      return "46557";
    case 'c':
      return "07447";
    case 'd':
      return "13557";
    case 'e':
      return "07747";
    case 'f':
      return "34644";
    case 'g':
      return "07717";
    case 'h':
      return "44655";
    case 'i':
      return "20222";
    case 'k':
      return "45655";
    case 'l':
      return "22223";
    case 'm':
      return "05775";
    case 'n':
      return "06555";
    case 'o':
      return "07557";
    case 'p':
      return "06564";
    case 'r':
      return "06444";
    case 's':
      return "03616";
    case 't':
      return "27223";
    case 'u':
      return "05557";
    case 'v':
      return "05552";
    case 'w':
      return "05777";
    case 'x':
      return "05225";
    case 'y':
      return "05716";
    case '.':
      return "00002";
    case '-':
      return "00700";
    case '/':
      return "11244";
    default:
      return "00000";
  }
}

/* `scale`: the size of a point, in pixels. */
static inline void lw_frames_draw(const lw_frames* frames, SDL_Renderer* renderer, int x, int y, int scale) {
  char lines[LW_FRAMES_LINES][LW_FRAMES_LINE_BYTES];
  lw_frames_rect box = {x - 2 * scale, y - 2 * scale, 0, 0};
  size_t longest = 0;
  int line;
  lw_frames_text(frames, lines);
  for (line = 0; line < LW_FRAMES_LINES; ++line) {
    const size_t size = strlen(lines[line]);
    if (size > longest) longest = size;
  }
  box.w = (int)longest * 4 * scale + 3 * scale;
  box.h = LW_FRAMES_LINES * 7 * scale + 2 * scale;
  SDL_SetRenderDrawColor(renderer, 32, 32, 32, 255);
  SDL_RenderFillRect(renderer, &box);
  SDL_SetRenderDrawColor(renderer, 255, 255, 255, 255);
  for (line = 0; line < LW_FRAMES_LINES; ++line) {
    size_t column;
    for (column = 0; lines[line][column] != '\0'; ++column) {
      const char* glyph = lw_frames_glyph(lines[line][column]);
      int row;
      for (row = 0; row < 5; ++row) {
        int bit;
        for (bit = 0; bit < 3; ++bit) {
          lw_frames_rect point = {x + ((int)column * 4 + bit) * scale, y + (line * 7 + row) * scale, scale,
                                  scale};
          if (((glyph[row] - '0') >> (2 - bit) & 1) != 0) SDL_RenderFillRect(renderer, &point);
        }
      }
    }
  }
}

#endif /* LAGWATCH_ADAPTERS_FRAMES_SDL_H_ */
