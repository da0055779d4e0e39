// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/function_name.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

struct Case {
  const char* symbol;
  const char* name;
};

class FunctionName : public testing::TestWithParam<Case> {};

TEST_P(FunctionName, IsWhatPeopleRead) {
  EXPECT_EQ(ReadableFunctionName(GetParam().symbol), GetParam().name);
}

// Symbols as g++ 12 writes them.
INSTANTIATE_TEST_SUITE_P(Plain, FunctionName,
                         testing::Values(Case{"evalGenericCommand", "evalGenericCommand"}, Case{"", ""},
                                         Case{"_Z", "_Z"}, Case{"_Zbogus", "_Zbogus"},
                                         Case{"main.main", "main.main"},
                                         Case{"_RNvCs1234_7mycrate3foo", "_RNvCs1234_7mycrate3foo"}));

INSTANTIATE_TEST_SUITE_P(CloneSuffixes, FunctionName,
                         testing::Values(Case{"memcpy.part.1", "memcpy"}, Case{"scan.cold", "scan"},
                                         Case{".cold", ".cold"},
                                         Case{"_ZN3foo3barEi.constprop.0", "foo::bar"},
                                         Case{"_ZN3foo3barEi.isra.0.cold", "foo::bar"}));

INSTANTIATE_TEST_SUITE_P(
    ParametersAndReturnTypes, FunctionName,
    testing::Values(
        Case{"_ZNK6editor5Index6LookupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
             "editor::Index::Lookup"},
        Case{"_ZN6editor5ParseIiEESt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEET_St4lessIS7_"
             "ESaISt4pairIKS7_S8_EEES8_PFviE",
             "editor::Parse<int>"},
        Case{"_ZN6editor4DeclIiEEDTplfp_fp_ET_", "editor::Decl<int>"},
        Case{"_ZNK6editor5FixedILi1EE3GetIlEET_v", "editor::Fixed<1>::Get<long>"},
        Case{"_ZNO6editor5Index3RefEv", "editor::Index::Ref"},
        Case{"_ZNKR6editor5Index8RefConstEv", "editor::Index::RefConst"},
        Case{"_ZNVK6editor5Index2CvEv", "editor::Index::Cv"},
        Case{"_ZN6editor9AbiTaggedB5cxx11Ev", "editor::AbiTagged"},
        Case{"_ZThn8_N6editor7Derived1WEv", "editor::Derived::W"},
        Case{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"}));

INSTANTIATE_TEST_SUITE_P(
    Operators, FunctionName,
    testing::Values(Case{"_ZN6editor5IndexclEi", "editor::Index::operator()"},
                    Case{"_ZN6editor5IndexixEi", "editor::Index::operator[]"},
                    Case{"_ZN6editor5IndexssEi", "editor::Index::operator<=>"},
                    Case{"_ZNK6editor5IndexltERKS0_", "editor::Index::operator<"},
                    Case{"_ZN6editor5IndexptEv", "editor::Index::operator->"},
                    Case{"_ZNK6editor5IndexltIiEEbT_", "editor::Index::operator< <int>"},
                    Case{"_ZNK6editor5IndexeqIiEEbT_", "editor::Index::operator==<int>"},
                    Case{"_ZN6editor5IndexlsIcEERS0_PT_", "editor::Index::operator<< <char>"},
                    Case{"_ZN6editor5IndexnwEm", "editor::Index::operator new"},
                    Case{"_ZNK6editor5IndexcvbEv", "editor::Index::operator bool"},
                    Case{"_ZNK6editor5IndexcvSt6vectorIiSaIiEEEv",
                         "editor::Index::operator std::vector<int, std::allocator<int> >"},
                    Case{"_ZN6editor8ByMemberIXadL_ZNKS_5IndexltERKS1_EEEEiv",
                         "editor::ByMember<&(editor::Index::operator<(editor::Index const&) const)>"}));

INSTANTIATE_TEST_SUITE_P(Local, FunctionName,
                         testing::Values(Case{"_ZN12_GLOBAL__N_15Local3RunEv",
                                              "(anonymous namespace)::Local::Run"},
                                         Case{"_ZZN6editor5OuterEvEN5Inner2DoEv", "editor::Outer::Inner::Do"},
                                         Case{"_ZZN6editor5IndexclEiENKUlicE_clEic",
                                              "editor::Index::operator()::{lambda(int, char)#1}::operator()"},
                                         Case{"_ZZN6editor5OuterEvENUlT_E_clIiEEDaS0_",
                                              "editor::Outer::{lambda(auto:1)#1}::operator()<int>"}));

TEST(FunctionName, IsCutWhenItIsTooLong) {
  std::string long_name(2 * kMaxFunctionNameBytes, 'x');
  EXPECT_EQ(ReadableFunctionName(long_name).size(), kMaxFunctionNameBytes);
}

// f(pair<int, int>, pair<the last, the last>, …): each parameter is twice as long as the one before.
TEST(FunctionName, SurvivesANameThatStandsForTerabytes) {
  std::string bomb = "_Z1fSt4pairIiiE";
  for (char last : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXY")) {
    bomb += std::string("S_IS") + last + "_S" + last + "_E";
  }
  EXPECT_EQ(ReadableFunctionName(bomb), bomb);
  EXPECT_EQ(ReadableFunctionName(bomb.substr(0, bomb.find("S_IS2_"))), "f");
}

}  // namespace
}  // namespace lagwatch::collector
