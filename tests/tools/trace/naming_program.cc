// SPDX-License-Identifier: Apache-2.0
// A program that links lagwatch and names a part of its work, but starts no monitor.
//
//   naming_program MS
#include <lagwatch/lagwatch.h>

#include <chrono>
#include <cstdlib>
#include <thread>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const lagwatch::ScopedTrace outer("whole run");
  const lagwatch::ScopedTrace part("load document");
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(argv[1])));
  return 0;
}
