// SPDX-License-Identifier: Apache-2.0
// The library of guard_and_gil.py.
#include <unistd.h>

#include <atomic>

namespace {

using ReadDefaults = void (*)();

std::atomic<int> g_callers{0};

class Settings {
 public:
  [[gnu::noinline]] explicit Settings(ReadDefaults read) {
    while (g_callers < 2) usleep(1000);  // the other thread is about to wait for this object
    usleep(20'000);
    read();
  }
};

}  // namespace

extern "C" [[gnu::noinline, gnu::visibility("default")]] void FindSettings(ReadDefaults read) {
  ++g_callers;
  static const Settings settings(read);
  asm volatile("" : : "r"(&settings));
}
