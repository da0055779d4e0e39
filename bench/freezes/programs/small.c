/* SPDX-License-Identifier: Apache-2.0
 * A loop of a 32-bit program, without a C library: it polls every 50 ms. */
static int Call(int number, int first, int second, int third) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
  return result;
}
void _start(void) {
  for (;;) Call(168, 0, 0, 50); /* poll */
}
