// SPDX-License-Identifier: Apache-2.0
// A library whose constructor calls a function of the program that is linked with it.
void CallInConstructor(void) __attribute__((weak));

__attribute__((constructor)) static void Construct(void) {
  if (CallInConstructor != 0) CallInConstructor();
}
