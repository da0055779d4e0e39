// SPDX-License-Identifier: Apache-2.0
// A program that calls its functions as often as its arguments say: `calls`, `hot COUNT`, `hang MS`.
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "tests/tools/instrument/ruled_shop.h"

namespace {

void Call() {
  for (int i = 0; i < 3; ++i) shop::Save(shop::Cart{i});
  for (int i = 0; i < 5; ++i) shop::Save(i);
  for (int i = 0; i < 7; ++i) add_numbers(i);
  for (int i = 0; i < 2; ++i) find_in_table(i);
}

// A loop with a dispatch that takes long, and such that do not.
void Hang(int ms) {
  int ends[2];
  if (pipe(ends) != 0) return;
  for (int i = 0; i < 20; ++i) {
    pollfd wait{.fd = ends[0], .events = POLLIN, .revents = 0};
    poll(&wait, 1, 20);
    if (i == 10) shop::Freeze(ms);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "calls";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (what == "calls") Call();
  if (what == "hang") Hang(number);
  if (what != "hot") return 0;
  for (int i = 0; i < number; ++i) {
    add_numbers(i);
    constexpr int kSeldom = 100'000;
    if (i % kSeldom == 0) find_in_table(i);
  }
  return 0;
}
