/* SPDX-License-Identifier: Apache-2.0 */
/* A library that defines the version of an old C library, and nothing of what is in one. */
void lagwatch_test_of_old_glibc(void);
void lagwatch_test_of_old_glibc(void) {}
