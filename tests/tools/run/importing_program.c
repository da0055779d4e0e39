// SPDX-License-Identifier: Apache-2.0
// Prints, after a line has come, the library that each function is imported from that `lagwatch attach`
// redirects.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// Without their declarations, which would all be different ones.
#define IMPORT(function) extern char import_##function[] __asm__(#function) __attribute__((weak));
#include "import_rows.inc"
#undef IMPORT

static void Print(const char* function, const char* address) {
  Dl_info info;
  const char* file = dladdr(address, &info) != 0 ? strrchr(info.dli_fname, '/') : NULL;
  printf("%s %s\n", function, file != NULL ? file + 1 : "?");
}

int main(void) {
  char line[16];
  printf("ready\n");
  fflush(stdout);
  if (fgets(line, sizeof line, stdin) == NULL) return 1;
#define IMPORT(function) \
  if (import_##function != NULL) Print(#function, import_##function);  // the C library may lack some
#include "import_rows.inc"
  return 0;
}
