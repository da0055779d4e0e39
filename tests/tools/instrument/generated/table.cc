// SPDX-License-Identifier: Apache-2.0
// Stands for code that a program has generated.
extern "C" [[gnu::noinline]] void find_in_table(int number) { asm volatile("" : : "r"(number)); }
