/* SPDX-License-Identifier: Apache-2.0 */
/* Forbids probes when its input says so. */
#include <lagwatch/c.h>
#include <stdio.h>
#include <string.h>

__attribute__((noinline)) int probed_function(int number) {
  __asm__ volatile("");
  return number + 1;
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("ready");
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    if (strcmp(line, "forbid\n") == 0) printf("forbidden %d\n", lw_forbid_probes());
    if (strcmp(line, "call\n") == 0) printf("called %d\n", probed_function(1));
    if (strcmp(line, "code\n") == 0)
      printf("code %02x\n", *(const unsigned char*)(const void*)&probed_function);
  }
  return 0;
}
