// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/note_arguments.h"

#include <gtest/gtest.h>

#include <utility>

namespace lagwatch::sdk {
namespace {

using Kind = NoteArgument::Kind;

NoteArgument Only(std::string_view text) {
  const auto arguments = ParseNoteArguments(text);
  EXPECT_EQ(arguments.size(), 1U) << text;
  return arguments.empty() ? NoteArgument{} : arguments.front();
}

struct Values {
  uint64_t registers[16];
  Values() {
    for (uint64_t i = 0; i < 16; ++i) registers[i] = 1000 * i;
  }
};

TEST(NoteArguments, AreConstantsRegistersAndMemory) {
  const NoteArgument constant = Only("-4@$-7");
  EXPECT_EQ(constant.kind, Kind::kConstant);
  EXPECT_EQ(static_cast<int64_t>(constant.Widen(static_cast<uint64_t>(constant.number))), -7);
  for (const auto& [text, number] :
       {std::pair("8@%rax", 0), std::pair("4@%edx", 1), std::pair("8@%rbx", 3), std::pair("1@%sil", 4),
        std::pair("8@%rsp", 7), std::pair("2@%r8w", 8), std::pair("1@%r15b", 15), std::pair("1@%cl", 2)}) {
    EXPECT_EQ(Only(text).kind, Kind::kRegister) << text;
    EXPECT_EQ(Only(text).base, number) << text;
  }
  EXPECT_EQ(Only("1@%bh").base, 3);
  EXPECT_EQ(Only("1@%bh").shift, 8);
}

TEST(NoteArguments, HaveAddressesByBaseIndexAndScale) {
  const Values values;
  EXPECT_EQ(Only("8@-16(%rbp)").AddressWith(values.registers), 6000U - 16);
  EXPECT_EQ(Only("-4@112(%rsp)").AddressWith(values.registers), 7112U);
  EXPECT_EQ(Only("8@(%rax,%rcx,4)").AddressWith(values.registers), 8000U);
  EXPECT_EQ(Only("8@0x10(,%rdx,8)").AddressWith(values.registers), 8016U);
}

TEST(NoteArguments, AreWidenedByTheirSign) {
  EXPECT_EQ(Only("-4@%eax").Widen(0x1'ffff'fffe), static_cast<uint64_t>(-2));
  EXPECT_EQ(Only("4@%eax").Widen(0x1'ffff'fffe), 0xffff'fffeU);
  EXPECT_EQ(Only("-1@%al").Widen(0x180), static_cast<uint64_t>(-128));
  EXPECT_EQ(Only("%rax").Widen(~0ULL), ~0ULL);  // of old files
}

TEST(NoteArguments, AreUnknownWhereTheyCannotBeRead) {
  for (const char* text : {"8f@%xmm0", "4@total(%rip)", "8@%nothing", "3@%rax", "8@(%rax,%rcx,3)", "8@(%ah)",
                           "8@", "@", "8@$", "8@(%rax", "8@%r16", "8@99999999999999999999(%rax)"})
    EXPECT_EQ(Only(text).kind, Kind::kUnknown) << text;
}

TEST(NoteArguments, AreATextsFirstTwelve) {
  EXPECT_TRUE(ParseNoteArguments("").empty());
  EXPECT_EQ(ParseNoteArguments(" 8@%rdi  8@%rsi ").size(), 2U);
  EXPECT_EQ(ParseNoteArguments("1 2 3 4 5 6 7 8 9 10 11 12 13").size(), kMaxNoteArguments);
}

}  // namespace
}  // namespace lagwatch::sdk
