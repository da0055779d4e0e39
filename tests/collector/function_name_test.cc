// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/function_name.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

struct FunctionCase {
  const char* symbol;
  const char* name;
};

class FunctionName : public ::testing::TestWithParam<FunctionCase> {};

TEST_P(FunctionName, IsWhatPeopleRead) {
  EXPECT_EQ(ReadableFunctionName(GetParam().symbol), GetParam().name);
}

// Symbols as g++ 12 writes them.
INSTANTIATE_TEST_SUITE_P(Plain, FunctionName,
                         ::testing::Values(FunctionCase{"evalGenericCommand", "evalGenericCommand"},
                                           FunctionCase{"", ""}, FunctionCase{"_Z", "_Z"},
                                           FunctionCase{"_Zbogus", "_Zbogus"},
                                           FunctionCase{"main.main", "main.main"}));

// As gfortran 12 writes procedures of modules.
INSTANTIATE_TEST_SUITE_P(
    Fortran, FunctionName,
    ::testing::Values(FunctionCase{"__grid_MOD_sweep", "grid::sweep"},
                      FunctionCase{"__my_solver_MOD_step_once.constprop.0", "my_solver::step_once"},
                      FunctionCase{"__MOD_sweep", "__MOD_sweep"}, FunctionCase{"__grid_MOD_", "__grid_MOD_"},
                      FunctionCase{"a_MOD_b", "a_MOD_b"}));

// As gcc 12 writes methods.
INSTANTIATE_TEST_SUITE_P(ObjectiveC, FunctionName,
                         ::testing::Values(FunctionCase{"_i_Cart__addItem_count_", "-[Cart addItem:count:]"},
                                           FunctionCase{"_c_Cart__load", "+[Cart load]"},
                                           FunctionCase{"_i_Cart_Prices_total", "-[Cart(Prices) total]"},
                                           FunctionCase{"_i_Cart___reset_", "-[Cart _reset:]"},
                                           FunctionCase{"_i_cart__total", "_i_cart__total"},
                                           FunctionCase{"_i_Cart", "_i_Cart"},
                                           FunctionCase{"_i_Cart__", "_i_Cart__"},
                                           FunctionCase{"_i_", "_i_"}));

// As gdc 12 writes them.
INSTANTIATE_TEST_SUITE_P(D, FunctionName,
                         ::testing::Values(FunctionCase{"_D4shop5totalFiZi", "shop.total"},
                                           FunctionCase{"_D4shop4Cart5totalMxFZi", "shop.Cart.total"},
                                           FunctionCase{"_Dmain", "D main"},
                                           FunctionCase{"_D4shop", "_D4shop"},
                                           FunctionCase{"_Dynamic", "_Dynamic"}));

// As rustc 1.95 writes them, in its older way and in its newer one.
INSTANTIATE_TEST_SUITE_P(
    Rust, FunctionName,
    ::testing::Values(FunctionCase{"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
                      FunctionCase{"_RNvXs_CsdzEtqJFEq6z_1zNtB4_5IndexNtB4_7Handler6handle",
                                   "<z::Index as z::Handler>::handle"},
                      FunctionCase{"_ZN39_$LT$z..Index$u20$as$u20$z..Handler$GT$6handle17hc7d2ed6ee884f488E",
                                   "<z::Index as z::Handler>::handle"},
                      FunctionCase{"_ZN1z6sortit17h46389020eaf477a8E", "z::sortit"},
                      FunctionCase{
                          "_ZN1z4main28_$u7b$$u7b$closure$u7d$$u7d$17h27e7d3b92ab11bb7E.llvm.5347603007",
                          "z::main::{{closure}}"},
                      FunctionCase{"_RNCNvCsdzEtqJFEq6z_1z4main0B3_", "z::main::{closure#0}"},
                      FunctionCase{"_RNvMCsdzEtqJFEq6z_1zNtB2_5Index7rebuild", "<z::Index>::rebuild"},
                      FunctionCase{"_R", "_R"}, FunctionCase{"_RNvBogus", "_RNvBogus"}));

// Of gcc, and of clang (.llvm, .cold.1, .__uniq), one by one and piled up.
INSTANTIATE_TEST_SUITE_P(
    CloneSuffixesOfC, FunctionName,
    ::testing::Values(FunctionCase{"scan.constprop.0", "scan"}, FunctionCase{"scan.isra.12", "scan"},
                      FunctionCase{"memcpy.part.1", "memcpy"}, FunctionCase{"scan.cold", "scan"},
                      FunctionCase{"scan.cold.1", "scan"}, FunctionCase{"scan.lto_priv.0", "scan"},
                      FunctionCase{"scan.llvm.1234567890123456789", "scan"},
                      FunctionCase{"scan.clone.3", "scan"}, FunctionCase{"scan.simdclone.0", "scan"},
                      FunctionCase{"scan.localalias", "scan"}, FunctionCase{"scan.localalias.4", "scan"},
                      FunctionCase{"scan.__uniq.225387498134587", "scan"},
                      FunctionCase{"scan.lto_priv.1.constprop.0.isra.0.part.2.cold", "scan"},
                      FunctionCase{"scan.__uniq.22.llvm.99.cold.1", "scan"}));

INSTANTIATE_TEST_SUITE_P(CloneSuffixesOfCpp, FunctionName,
                         ::testing::Values(FunctionCase{"_ZN3foo3barEi.constprop.0", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.isra.0.cold", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.part.0.lto_priv.1", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.llvm.8123456789", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.clone.2", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.localalias", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.actor", "foo::bar"},
                                           FunctionCase{"_ZN3foo3barEi.resume", "foo::bar"},
                                           FunctionCase{"_ZL3barv.__uniq.225387498134587", "bar"},
                                           FunctionCase{"_ZN6editor9AbiTaggedB5cxx11Ev.cold",
                                                        "editor::AbiTagged"},
                                           FunctionCase{"_ZZN6editor5OuterEvENKUlvE_clEv.constprop.0.isra.0",
                                                        "editor::Outer::{lambda()#1}::operator()"}));

INSTANTIATE_TEST_SUITE_P(
    WhatOnlyLooksLikeACloneSuffix, FunctionName,
    ::testing::Values(FunctionCase{".cold", ".cold"}, FunctionCase{".cold.1", ".cold.1"},
                      FunctionCase{"cold", "cold"}, FunctionCase{"main.partition", "main.partition"},
                      FunctionCase{"os.coldStart", "os.coldStart"},
                      FunctionCase{"pkg.part.Read", "pkg.part.Read"},
                      FunctionCase{"scan.isra.x", "scan.isra.x"}, FunctionCase{"scan_part", "scan_part"},
                      FunctionCase{"part0", "part0"}, FunctionCase{"scan.part0", "scan.part0"},
                      FunctionCase{"scan.2", "scan.2"}, FunctionCase{"7", "7"}, FunctionCase{".7", ".7"},
                      FunctionCase{"scan.cold.", "scan.cold."},
                      FunctionCase{"parallel._omp_fn.0", "parallel._omp_fn.0"}));

// gcc's abi_tag, and the tags that libc++ gives all its functions and changes with every version.
INSTANTIATE_TEST_SUITE_P(
    AbiTags, FunctionName,
    ::testing::Values(FunctionCase{"_ZN6editor9AbiTaggedB5cxx11Ev", "editor::AbiTagged"},
                      FunctionCase{"_ZNSt3__16vectorIiNS_9allocatorIiEEE9push_backB8ne180100EOi",
                                   "std::__1::vector<int, std::__1::allocator<int> >::push_back"},
                      FunctionCase{"_ZN6editor4CallIXadL_ZNS_9AbiTaggedB5cxx11EvEEEEvv",
                                   "editor::Call<&editor::AbiTagged>"},
                      FunctionCase{"_ZN6editor3UseINS_3TagB2v1EEEvv", "editor::Use<editor::Tag>"},
                      FunctionCase{"_ZN6editor5IndexixB2v1Ei", "editor::Index::operator[]"},
                      FunctionCase{"_ZZN6editor9AbiTaggedB2v1EvENKUlvE_clEv",
                                   "editor::AbiTagged::{lambda()#1}::operator()"}));

INSTANTIATE_TEST_SUITE_P(
    ParametersAndReturnTypes, FunctionName,
    ::testing::Values(
        FunctionCase{"_ZNK6editor5Index6LookupERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
                     "editor::Index::Lookup"},
        FunctionCase{
            "_ZN6editor5ParseIiEESt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEET_St4lessIS7_"
            "ESaISt4pairIKS7_S8_EEES8_PFviE",
            "editor::Parse<int>"},
        FunctionCase{"_ZN6editor4DeclIiEEDTplfp_fp_ET_", "editor::Decl<int>"},
        FunctionCase{"_ZNK6editor5FixedILi1EE3GetIlEET_v", "editor::Fixed<1>::Get<long>"},
        FunctionCase{"_ZNO6editor5Index3RefEv", "editor::Index::Ref"},
        FunctionCase{"_ZNKR6editor5Index8RefConstEv", "editor::Index::RefConst"},
        FunctionCase{"_ZNVK6editor5Index2CvEv", "editor::Index::Cv"},
        FunctionCase{"_ZThn8_N6editor7Derived1WEv", "editor::Derived::W"},
        FunctionCase{"_ZNSt6vectorIiSaIiEE9push_backEOi",
                     "std::vector<int, std::allocator<int> >::push_back"}));

INSTANTIATE_TEST_SUITE_P(
    Operators, FunctionName,
    ::testing::Values(FunctionCase{"_ZN6editor5IndexclEi", "editor::Index::operator()"},
                      FunctionCase{"_ZN6editor5IndexixEi", "editor::Index::operator[]"},
                      FunctionCase{"_ZN6editor5IndexssEi", "editor::Index::operator<=>"},
                      FunctionCase{"_ZNK6editor5IndexltERKS0_", "editor::Index::operator<"},
                      FunctionCase{"_ZN6editor5IndexptEv", "editor::Index::operator->"},
                      FunctionCase{"_ZNK6editor5IndexltIiEEbT_", "editor::Index::operator< <int>"},
                      FunctionCase{"_ZNK6editor5IndexeqIiEEbT_", "editor::Index::operator==<int>"},
                      FunctionCase{"_ZN6editor5IndexlsIcEERS0_PT_", "editor::Index::operator<< <char>"},
                      FunctionCase{"_ZN6editor5IndexnwEm", "editor::Index::operator new"},
                      FunctionCase{"_ZNK6editor5IndexcvbEv", "editor::Index::operator bool"},
                      FunctionCase{"_ZNK6editor5IndexcvSt6vectorIiSaIiEEEv",
                                   "editor::Index::operator std::vector<int, std::allocator<int> >"},
                      FunctionCase{
                          "_ZN6editor8ByMemberIXadL_ZNKS_5IndexltERKS1_EEEEiv",
                          "editor::ByMember<&(editor::Index::operator<(editor::Index const&) const)>"}));

INSTANTIATE_TEST_SUITE_P(
    Local, FunctionName,
    ::testing::Values(FunctionCase{"_ZN12_GLOBAL__N_15Local3RunEv", "(anonymous namespace)::Local::Run"},
                      FunctionCase{"_ZZN6editor5OuterEvEN5Inner2DoEv", "editor::Outer::Inner::Do"},
                      FunctionCase{"_ZZN6editor5IndexclEiENKUlicE_clEic",
                                   "editor::Index::operator()::{lambda(int, char)#1}::operator()"},
                      FunctionCase{"_ZZN6editor5OuterEvENUlT_E_clIiEEDaS0_",
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

// f::<(A, A)>, where each type is a pair of the one before, named by where it stands.
TEST(FunctionName, SurvivesARustNameThatStandsForTerabytes) {
  auto reference = [](size_t at) {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (at == 0) return std::string("B_");
    std::string digits;
    for (--at; at >= 62; at /= 62) digits.insert(digits.begin(), kDigits[at % 62]);
    digits.insert(digits.begin(), kDigits[at]);
    return "B" + digits + "_";
  };
  std::string bomb = "_RINvC1a1fTmmE";
  for (size_t last = 8, i = 0; i < 40; ++i) {
    const size_t begin = bomb.size() - 2;
    bomb += "T" + reference(last) + reference(last) + "E";
    last = begin;
  }
  EXPECT_EQ(ReadableFunctionName(bomb + "E"), bomb + "E");
}

}  // namespace
}  // namespace lagwatch::collector
