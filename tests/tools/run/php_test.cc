// SPDX-License-Identifier: Apache-2.0
// PHP programs under `lagwatch run`: the reported frames against those that PHP itself sees.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

class PhpTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PhpTest, ReportsNameTheLinesThatPhpItselfSees) {
  ExpectTheStackThatItPrints({"/usr/bin/php", LAGWATCH_PHP_PROGRAM, GetParam()}, "[php]");
}

INSTANTIATE_TEST_SUITE_P(Freezes, PhpTest,
                         ::testing::Values("count", "generator", "evaluated"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace lagwatch::tools
