// SPDX-License-Identifier: Apache-2.0
// Notes of <sys/sdt.h>: those of the program, whose numbers a test knows, and those of real libraries.
#include <csignal>

#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::ElementsAre;

TEST_F(ProbeTest, ListsNotesWithTheirArguments) {
  ASSERT_EQ(Ask({pid(), "--functions", "usdt shop:*"}), 0) << errors_;
  EXPECT_THAT(output_,
              ::testing::ContainsRegex("shop:sale\\(-4@%[a-z0-9]+ 8@%[a-z0-9]+ 4@\\$7 8f@%xmm0\\) +one"));
  EXPECT_THAT(output_, HasSubstr("shop:compared"));
  EXPECT_THAT(output_, HasSubstr("2 notes, 0 of which cannot be probed"));
}

TEST_F(ProbeTest, SeesNotesWithArguments) {
  EXPECT_THAT(Records(Probe("usdt shop:sale { print(arg0, arg1, arg2) }", "sell 3")),
              ElementsAre("0 0 7", "-1 100 7", "-2 200 7"));
  const std::string folded = Probe("usdt shop:s* { count by stack }", "sell 4", {"--folded"});
  EXPECT_THAT(folded, ::testing::ContainsRegex("main;[^\n]*sell_goods 4\n"));
}

TEST_F(ProbeTest, LeavesRegistersFlagsAndStackOfNotesAlone) {
  const auto console = Start({pid(), "usdt shop:compared { print(arg0, arg1) }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  Do("compare 10");
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_EQ(Records(console->Output()).size(), 10U) << console->Errors();
  Do("compare 10");
  EXPECT_EQ(Count(program_->Output(), "compared 6660\n"), 2U) << program_->Output();
}

TEST_F(ProbeTest, CountsItselfAsAListenerOfNotes) {
  const auto first = Start({pid(), "usdt shop:sale { count }"});
  const auto second = Start({pid(), "usdt shop:* { count }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*first) && IsArmed(*second); }));
  Do("listeners");
  EXPECT_THAT(program_->Output(), HasSubstr("listeners 2 1\n"));
  for (const auto& console : {first.get(), second.get()}) {
    console->Signal(SIGINT);
    EXPECT_EQ(console->Wait(), 0) << console->Errors();
  }
  Do("listeners");
  EXPECT_THAT(program_->Output(), HasSubstr("listeners 0 0\n"));
}

TEST_F(ProbeTest, RefusesNotesAndArgumentsThatAreNotThere) {
  EXPECT_EQ(Ask({pid(), "usdt shop:sales { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("did you mean 'shop:sale'?"));
  EXPECT_EQ(Ask({pid(), "usdt shop:sale { print(arg3) }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("its arg3 is in no general register and no memory"));
  EXPECT_EQ(Ask({pid(), "usdt shop:sale { print(arg4) }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("the note has 4 arguments"));
}

TEST_F(ProbeTest, SeesTheNotesOfTheCxxLibrary) {
  if (Ask({pid(), "--functions", "usdt libstdcxx:throw"}) != 0) GTEST_SKIP() << "it has none: " << errors_;
  EXPECT_EQ(Records(Probe("usdt libstdcxx:throw { print(arg0 != 0, arg1 != 0) }", "throw 4")),
            (std::vector<std::string>{"1 1", "1 1"}));
}

}  // namespace
}  // namespace lagwatch::tools
