/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the plug-in that is its argument twice, at different addresses, and has it wait. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>

int main(int count, char** arguments) {
  for (int i = 0; i < 2; ++i) {
    void* plugin = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*wait_once)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "wait_once") : NULL;
    const int code = wait_once != NULL ? wait_once() : 2;
    if (code != 0) return code;
    dlclose(plugin);
    for (size_t pages = 0; pages < 40; ++pages) /* in the places of what was unloaded */
      mmap(NULL, 4096 * (pages % 8 + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return 0;
}
