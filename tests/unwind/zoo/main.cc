// SPDX-License-Identifier: Apache-2.0
// zoo steps: single-steps through the zoo and says how the unwinder did; fails when it was wrong.
// zoo blocked: waits in libc's calls and says what captures of that show; fails when they are wrong.
// zoo stops: stops in the zoo again and again, for gdb_oracle.py.
#include <cstdio>
#include <cstring>

#include "tests/unwind/harness/debugger_stops.h"
#include "tests/unwind/harness/stepper.h"
#include "tests/unwind/zoo/zoo.h"

namespace lagwatch::unwind_test {
namespace {

int StepThrough(const char* program) {
  auto all = {FrameCases(), CallbackCases(), ContextCases(), CasesWithoutTables()};
  InstallStepper();
  for (auto cases : all) {
    for (const ZooCase& zoo_case : cases) {
      BeginSteps(zoo_case.name);
      zoo_case.body();
      EndSteps();
    }
  }
  return ReportSteps(program) ? 0 : 1;
}

void RunAll(std::span<const ZooCase> cases) {
  for (const ZooCase& zoo_case : cases) zoo_case.body();
}

int StopForDebugger() {
  // Signals and sleeps are slow under a debugger, and most stops would be there.
  constexpr int kRoundsPerContext = 100;
  BeginStops();
  for (int round = 0; !HasStoppedEnough(); ++round) {
    RunAll(FrameCases());
    RunAll(CallbackCases());
    if (round % kRoundsPerContext == 0) RunAll(ContextCases());
  }
  return 0;
}

}  // namespace
}  // namespace lagwatch::unwind_test

int main(int argument_count, char** arguments) {
  using namespace lagwatch::unwind_test;
  const char* mode = argument_count > 1 ? arguments[1] : "";
  const char* program = std::strrchr(arguments[0], '/');
  program = program == nullptr ? arguments[0] : program + 1;
  if (std::strcmp(mode, "steps") == 0) return StepThrough(program);
  if (std::strcmp(mode, "stops") == 0) return StopForDebugger();
  if (std::strcmp(mode, "blocked") == 0)
    return CheckBlockedThreads(program, BlockingCalls(), RunBlockingCall) ? 0 : 1;
  fprintf(stderr, "usage: %s steps|stops|blocked\n", program);
  return 2;
}
