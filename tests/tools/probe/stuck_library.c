// SPDX-License-Identifier: Apache-2.0
// Its constructor, and with it dlopen(3), returns only when the file that STUCK_LIBRARY_FILE names is gone.
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void WaitForTheFile(void) {
  const char* path = getenv("STUCK_LIBRARY_FILE");
  while (path != NULL && access(path, F_OK) == 0) usleep(1000);
}
