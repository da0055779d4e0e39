// SPDX-License-Identifier: Apache-2.0
// subject.dSYM was made of this with clang 14, LLVM's linker and dsymutil, for arm64 macOS:
//   clang --target=arm64-apple-macos11 -g -O1 -c subject.c
//   ld64.lld -arch arm64 -platform_version macos 11 11 -e _OpenDocument -undefined dynamic_lookup subject.o -o subject
//   dsymutil --flat subject -o subject.dSYM
extern int Read(int at);

static inline __attribute__((always_inline)) int AddAll(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += Read(i);
  return sum;
}

__attribute__((noinline)) static int Total(int count) { return AddAll(count) + 1; }

int OpenDocument(int count) { return Total(count) + Total(count + 1); }
