// SPDX-License-Identifier: Apache-2.0
// The scripts that come with lagwatch, and those of docs/probes.md.
#include "probe/scripts/scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/probe/armed_script.h"

namespace lagwatch::probe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadPage() {
  std::ifstream file(LAGWATCH_PROBES_PAGE);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Scripts, EachThatComesWithItIsAccepted) {
  EXPECT_GE(BundledScripts().size(), 11u);
  for (const BundledScript& script : BundledScripts()) {
    EXPECT_GT(script.Title().size(), 10u) << script.name;
    EXPECT_EQ(FindBundledScript(script.name), &script);
    std::vector<std::string> arguments;
    for (const ScriptArgument& argument : script.Arguments()) {
      if (argument.fallback.empty()) arguments.push_back("libx!f*");
    }
    const Result<std::string> text = script.WithArguments(arguments);
    ASSERT_TRUE(text.ok()) << text.status().message();
    EXPECT_THAT(*text, Not(HasSubstr("$")));
    EXPECT_EQ(RefusalOf(*text), "") << script.name;
  }
}

TEST(Scripts, AMissingArgumentIsNamed) {
  const BundledScript* const script = FindBundledScript("slow-calls");
  ASSERT_NE(script, nullptr);
  EXPECT_THAT(script->WithArguments({}).status().message(), HasSubstr("takes an argument FUNCTION"));
  const std::string three[] = {"f", "2ms", "x"};
  EXPECT_THAT(script->WithArguments(three).status().message(), HasSubstr("takes 2 arguments"));
  const Result<std::string> text = script->WithArguments(std::span(three).first(2));
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("f @duration if duration > 2ms"));
  EXPECT_EQ(FindBundledScript("none"), nullptr);
}

// Each block ```lwp of the page is accepted, and each ```lwp-refused is refused with the message below it.
TEST(Scripts, TheExamplesOfThePageAreAsItSays) {
  const std::string page = ReadPage();
  size_t accepted = 0;
  size_t refused = 0;
  for (size_t at = 0; (at = page.find("```lwp", at)) != std::string::npos;) {
    const size_t begin = page.find('\n', at) + 1;
    const size_t end = page.find("```", begin);
    const bool is_refused = page.compare(at, 14, "```lwp-refused") == 0;
    const std::string script = page.substr(begin, end - begin);
    at = end + 3;
    if (!is_refused) {
      EXPECT_EQ(RefusalOf(script), "") << script;
      ++accepted;
      continue;
    }
    const size_t message = page.find("    ", at);
    const std::string expected = page.substr(message + 4, page.find('\n', message) - message - 4);
    EXPECT_EQ(RefusalOf(script), expected) << script;
    ++refused;
  }
  EXPECT_GE(accepted, 9u);
  EXPECT_GE(refused, 4u);
}

TEST(Scripts, ThePageHasEachPlaceAndValue) {
  const std::string page = ReadPage();
#define PROBE_PLACE(name, text, help) EXPECT_THAT(page, HasSubstr(help " |")) << text;
#include "probe/places.def"
#define PROBE_VALUE(name, text, shown, places, help) \
  EXPECT_THAT(page, HasSubstr("| `" text "` | " help " |"));
#include "probe/values.def"
  for (const BundledScript& script : BundledScripts()) {
    EXPECT_THAT(page,
                HasSubstr("| `" + std::string(script.name) + "` | " + std::string(script.Title()) + " |"));
  }
}

}  // namespace
}  // namespace lagwatch::probe
