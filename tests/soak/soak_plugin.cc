// SPDX-License-Identifier: Apache-2.0
// A library that the soak loads and unloads: code that calls back, through which exceptions pass.

extern "C" [[gnu::visibility("default")]] void SoakCallBack(void (*callback)(void*), void* argument) {
  callback(argument);
  asm volatile("");  // no tail call: the frame stays
}
