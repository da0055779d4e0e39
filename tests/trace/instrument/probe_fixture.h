// SPDX-License-Identifier: Apache-2.0
// Tests that probe functions of their own process, and leave its code as it was.
#pragma once

#include <gtest/gtest.h>

#include "tests/trace/instrument/probe_soak.h"
#include "trace/instrument/patch_site.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::trace {

class ProbingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be patched";
  }
  void TearDown() override {
    Prober().DisarmAll();
    EXPECT_TRUE(Prober().BytesAreOriginal());
  }
};

}  // namespace lagwatch::trace
