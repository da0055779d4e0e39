// SPDX-License-Identifier: Apache-2.0
// The costs of a fork() that can be counted: docs/design/start.md.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

struct ForkCosts {
  int mappings = 0;  // that a child gets
  int parent_faults = 0;
  int child_faults = 0;
};

class ForksTest : public RunTest {
 protected:
  static ForkCosts CostsOf(const std::vector<std::string>& command,
                           std::vector<std::string> environment = {}) {
    Process process(command, std::move(environment));
    EXPECT_EQ(process.Wait(), 0) << process.Errors();
    ForkCosts costs;
    std::istringstream(process.Output()) >> costs.mappings >> costs.parent_faults >> costs.child_faults;
    EXPECT_GT(costs.mappings, 0) << process.Output();
    return costs;
  }
};

TEST_F(ForksTest, CopyFewMappingsAndWriteToFewPages) {
  const ForkCosts bare = CostsOf({LAGWATCH_FORKS});
  const ForkCosts watched = CostsOf(Watched({LAGWATCH_FORKS}));
  // Six of the library, two that are wiped, and the kept one; a merge may fail, or a history be added.
  EXPECT_LE(watched.mappings, bare.mappings + 13);
  // The C library's own, of a process with several threads, are three.
  EXPECT_LE(watched.parent_faults, bare.parent_faults + 5);
  EXPECT_LE(watched.child_faults, bare.child_faults + 50);
}

}  // namespace
}  // namespace lagwatch::tools
