// SPDX-License-Identifier: Apache-2.0
#include <lagwatch/lagwatch.h>
#include <unistd.h>

#include <iostream>

double Import(int rows) {
  lagwatch::ScopedTrace trace("import");
  double sum = 0;
  for (int row = 1; row < rows; ++row) sum += 1.0 / row;
  return sum;
}

int main() {
  auto recording = lagwatch::Recording::Start({.interval_ms = 2, .threads = {gettid()}});
  if (!recording.is_on()) std::cerr << recording.why_not() << "\n";
  std::cout << Import(300'000'000) << "\n";
  if (!recording.Stop("import.lwtrace")) std::cerr << recording.why_not() << "\n";
}
