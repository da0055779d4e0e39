// SPDX-License-Identifier: Apache-2.0
// Ruby programs under `lagwatch run`: the reported frames against those that Ruby itself sees.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

class RubyTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RubyTest, ReportsNameTheLinesThatRubyItselfSees) {
  ExpectTheStackThatItPrints({"/usr/bin/ruby", LAGWATCH_RUBY_PROGRAM, GetParam()}, "[ruby]");
}

INSTANTIATE_TEST_SUITE_P(Freezes, RubyTest,
                         ::testing::Values("spin", "pause", "count", "order", "pattern", "rescued",
                                           "defined"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace lagwatch::tools
