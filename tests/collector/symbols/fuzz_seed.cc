// SPDX-License-Identifier: Apache-2.0
// Small, because a fuzzer changes a byte here and there: a function, one inlined into it, a namespace.
namespace seed {
namespace {

inline int Twice(int number) { return number + number; }

}  // namespace

[[gnu::visibility("default")]] int Work(int number) {
  int sum = 0;
  for (int i = 0; i < number; ++i) sum += Twice(i) ^ sum;
  return sum;
}

}  // namespace seed
