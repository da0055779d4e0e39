// SPDX-License-Identifier: Apache-2.0
// A library to be loaded, built twice with different code in the same places: PLUGIN_FRAME_BYTES differs.
#include <cstddef>

namespace {

[[gnu::noinline]] void CallThrough(void (*function)(void*), void* argument) {
  volatile char bytes[PLUGIN_FRAME_BYTES];
  bytes[0] = 1;
  function(argument);
  bytes[sizeof bytes - 1] = bytes[0];
}

}  // namespace

extern "C" [[gnu::visibility("default")]] void PluginCall(void (*function)(void*), void* argument) {
  volatile char bytes[PLUGIN_FRAME_BYTES / 2];
  bytes[0] = 1;
  CallThrough(function, argument);
  bytes[sizeof bytes - 1] = bytes[0];
}
