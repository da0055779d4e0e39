// SPDX-License-Identifier: Apache-2.0
// `--around CAUSE`: the functions around a hang that was reported.
#include "tests/tools/instrument/instrument_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::Not;

class AroundTest : public InstrumentTest {
 protected:
  // Has the program hang under `lagwatch run`, and returns the cause's key.
  std::string Cause() {
    EXPECT_EQ(Run({"run", "--spool", spool_, "--threshold-ms", "200", "--threads", "main", "--",
                   LAGWATCH_RULED_PROGRAM, "hang", "1200"}),
              0)
        << errors_;
    EXPECT_EQ(Run({"clusters", "--spool", spool_, "--json"}), 0) << errors_;
    const auto clusters = nlohmann::json::parse(output_, nullptr, /*allow_exceptions=*/false);
    EXPECT_FALSE(clusters.empty()) << output_;
    return clusters.empty() ? "" : clusters[0].value("key", "");
  }

  const std::string spool_ = directory_ / "spool";
};

TEST_F(AroundTest, CallersAndCalleesOfACauseAreTaken) {
  const std::string cause = Cause();
  const auto functions = List({LAGWATCH_RULED_PROGRAM, "--around", cause, "--spool", spool_});
  for (const char* name : {"main", "shop::Freeze(int)", "shop::Load(int)"})
    EXPECT_EQ(functions.at(name)["taken"], true) << name << " " << functions.at(name);
  // The cause's function calls it, and no sample saw that.
  EXPECT_EQ(functions.at("shop::detail::Check(int)")["taken"], true);
  EXPECT_THAT(functions.at("shop::detail::Check(int)")["rule"]["text"].get<std::string>(), HasSubstr(cause));
  for (const char* name : {"shop::Save(int)", "add_numbers", "find_in_table"})
    EXPECT_EQ(functions.at(name)["taken"], false) << name;

  const auto calls = CallsOf({"--around", cause, "--spool", spool_}, {LAGWATCH_RULED_PROGRAM, "hang", "10"});
  EXPECT_THAT(calls, Contains(Key("shop::Load")));
  EXPECT_THAT(calls, Contains(Key("shop::Freeze")));
  EXPECT_THAT(calls, Not(Contains(Key("add_numbers"))));
}

TEST_F(AroundTest, AnUnknownCauseIsRefused) {
  Cause();
  EXPECT_EQ(
      Run({"instrument", "list", LAGWATCH_RULED_PROGRAM, "--around", "0123456789abcdef", "--spool", spool_}),
      2);
  EXPECT_THAT(errors_, HasSubstr("lagwatch: instrument: "));
}

}  // namespace
}  // namespace lagwatch::tools
