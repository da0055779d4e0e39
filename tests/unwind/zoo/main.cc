// SPDX-License-Identifier: Apache-2.0
// zoo MODE: runs the zoo and says how the unwinder did; fails when it was wrong.
#include <cstdio>
#include <cstring>

#include "tests/unwind/harness/stepper.h"
#include "tests/unwind/zoo/zoo.h"

namespace lagwatch::unwind_test {
namespace {

int StepThrough(const char* program) {
  auto all = {FrameCases(), CallbackCases(), ContextCases()};
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

}  // namespace
}  // namespace lagwatch::unwind_test

int main(int argument_count, char** arguments) {
  using namespace lagwatch::unwind_test;
  const char* mode = argument_count > 1 ? arguments[1] : "";
  const char* program = std::strrchr(arguments[0], '/');
  program = program == nullptr ? arguments[0] : program + 1;
  if (std::strcmp(mode, "steps") == 0) return StepThrough(program);
  fprintf(stderr, "usage: %s steps\n", program);
  return 2;
}
