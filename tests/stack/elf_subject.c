// SPDX-License-Identifier: Apache-2.0
// A module for tests that read its file; it is never loaded. Its unwind table is .debug_frame alone.
#define LW_EXPORTED __attribute__((noinline, visibility("default")))
#define LW_HIDDEN static __attribute__((noinline, used))

LW_HIDDEN int LwHiddenTwice(int number) { return number * 2; }
LW_HIDDEN int LwHiddenSum(const int* numbers, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += LwHiddenTwice(numbers[i]);
  return sum;
}
LW_HIDDEN int LwHiddenFrame(int number) {
  volatile int numbers[32] = {number, number + 1};
  return LwHiddenSum((const int*)numbers, 32);
}
LW_EXPORTED int LwExportedFrame(int number) { return LwHiddenFrame(number) + 1; }
LW_EXPORTED int LwExportedSum(const int* numbers, int count) { return LwHiddenSum(numbers, count); }
