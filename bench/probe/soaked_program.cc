// SPDX-License-Identifier: Apache-2.0
// soaked_program [LIBRARY]: eight threads do all that could be in the way of probes, and the first does what
// its input says, a line each: "calls N" calls soaked_call() so often; "stop" ends the threads, and prints
// their operations, how many were wrong, and how many bytes of code are not their files'. A line ends each
// answer.
#include <cinttypes>
#include <cstdio>

#include "tests/trace/instrument/flow_workers.h"

extern "C" [[gnu::noinline]] uint64_t soaked_call(uint64_t number) {
  asm volatile("");
  return number * 3 + 1;
}

int main(int argc, char** argv) {
  lagwatch::trace::FlowWorkers workers(argc > 1 ? argv[1] : nullptr, 8);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::puts("ready");
  char line[64];
  uint64_t wrong_calls = 0;
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    uint64_t calls = 0;
    if (std::sscanf(line, "calls %" SCNu64, &calls) == 1) {
      for (uint64_t i = 0; i < calls; ++i) wrong_calls += soaked_call(i) == i * 3 + 1 ? 0 : 1;
      std::puts("done");
    } else {
      workers.Stop();  // libraries come and go no more
      std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", workers.operations(),
                  workers.wrong() + wrong_calls, lagwatch::trace::DifferingCodeBytes());
    }
  }
  return 0;
}
