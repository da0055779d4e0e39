// SPDX-License-Identifier: Apache-2.0
// Perl programs under `lagwatch run`: the reported frames against those that Perl itself sees.
#include <gtest/gtest.h>

#include <string>

#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

class PerlTest : public ScriptTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(PerlTest, ReportsNameTheLinesThatPerlItselfSees) {
  ExpectTheStackThatItPrints({"/usr/bin/perl", LAGWATCH_PERL_PROGRAM, GetParam()}, "[perl]");
}

INSTANTIATE_TEST_SUITE_P(Freezes, PerlTest,
                         ::testing::Values("order", "pattern", "evaluated"),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace lagwatch::tools
