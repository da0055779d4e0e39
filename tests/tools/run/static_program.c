/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

/* Ends at once; with an argument, after a minute. */
int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) sleep(60);
  return 0;
}
