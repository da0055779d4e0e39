// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collector/cluster/named_stacks.h"
#include "collector/symbols/names/function_name.h"

namespace lagwatch::collector {
namespace {

struct Case {
  const char* symbol;
  const char* name;
};

class CauseNameOfSymbol : public ::testing::TestWithParam<Case> {};

TEST_P(CauseNameOfSymbol, IsWhatStaysTheSame) {
  EXPECT_EQ(CauseName(ReadableFunctionName(GetParam().symbol)), GetParam().name);
}

INSTANTIATE_TEST_SUITE_P(
    Templates, CauseNameOfSymbol,
    ::testing::Values(Case{"_ZN6studio3MixIiEEvv", "studio::Mix"},
                      Case{"_ZN6studio3MixIdEEvv", "studio::Mix"},
                      Case{"_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector::push_back"},
                      Case{"_ZNK6editor5IndexltIiEEbT_", "editor::Index::operator<"},
                      Case{"_ZN6editor5IndexlsIcEERS0_PT_", "editor::Index::operator<<"},
                      Case{"_ZN6editor5IndexclEi", "editor::Index::operator()"},
                      Case{"_ZN12_GLOBAL__N_15Local3RunEv", "(anonymous namespace)::Local::Run"}));

// The same lambda of gcc and clang, its call through std::function inlined or not.
INSTANTIATE_TEST_SUITE_P(
    Lambdas, CauseNameOfSymbol,
    ::testing::Values(
        Case{"_ZZN3app6Editor8DispatchEvENKUlvE0_clEv", "app::Editor::Dispatch"},
        Case{"_ZZN3app6Editor8DispatchEvENK3$_1clEv", "app::Editor::Dispatch"},
        Case{"_ZNSt17_Function_handlerIFvvEZN3app6Editor8DispatchEvEUlvE0_E9_M_invokeERKSt9_Any_data",
             "app::Editor::Dispatch"},
        Case{"_ZNSt17_Function_handlerIFvvEZN3app6Editor8DispatchEvE3$_1E9_M_invokeERKSt9_Any_data",
             "app::Editor::Dispatch"},
        Case{"_ZNSt17_Function_handlerIFvvEPS0_E9_M_invokeERKSt9_Any_data",
             "std::_Function_handler::_M_invoke"},
        // Of a thread, a task, and among the arguments of a template's function.
        Case{"_ZNSt6thread11_State_implINS_8_InvokerISt5tupleIJZN3app6Editor8DispatchEvEUlvE0_EEEEE6_M_runEv",
             "app::Editor::Dispatch"},
        Case{"_ZNSt13__future_base11_Task_stateIZN3app6Editor8DispatchEvEUlvE0_SaIiEFvvEE6_M_runEv",
             "app::Editor::Dispatch"},
        Case{"_ZN3app4LockIZNS_6Editor8DispatchEvEUlvE_EEvT_", "app::Lock"}));

INSTANTIATE_TEST_SUITE_P(
    Rust, CauseNameOfSymbol,
    ::testing::Values(Case{"_ZN39_$LT$z..Index$u20$as$u20$z..Handler$GT$6handle17hc7d2ed6ee884f488E",
                           "z::Index::handle"},
                      Case{"_RNvXs_CsdzEtqJFEq6z_1zNtB4_5IndexNtB4_7Handler6handle", "z::Index::handle"},
                      Case{"_RNvMCsdzEtqJFEq6z_1zNtB2_5Index7rebuild", "z::Index::rebuild"},
                      Case{"_RNCNvCsdzEtqJFEq6z_1z4main0B3_", "z::main"},
                      Case{"_ZN1z4main28_$u7b$$u7b$closure$u7d$$u7d$17h27e7d3b92ab11bb7E", "z::main"}));

TEST(CauseName, LeavesOutASymbolsVersion) {
  EXPECT_EQ(CauseName("memchr@plt"), "memchr");
  EXPECT_EQ(CauseName("fclose@@GLIBC_2.2.5"), "fclose");
}

TEST(CauseName, IsOfATypeThatIsNobodysTheTrait) {
  EXPECT_EQ(CauseName("<i32 as core::fmt::Display>::fmt"), "core::fmt::Display::fmt");
  EXPECT_EQ(CauseName("<&mut alloc::string::String as core::fmt::Write>::write_str"),
            "alloc::string::String::write_str");
}

// Names are untrusted.
TEST(CauseName, TakesWhatIsNoName) {
  for (const char* name :
       {"<", ">", "(", "::{lambda", "@plt", "operator", "operator<", "a<b", "<a as ",
        "<>::", "std::_Function_handler<", "std::_Function_handler<a,", "::$_", "a::$_0"}) {
    EXPECT_FALSE(CauseName(name).empty()) << name;
  }
  EXPECT_EQ(CauseName(""), "");
}

TEST(CauseModule, IsTheLibraryWithoutItsVersion) {
  EXPECT_EQ(CauseModule("libreverb.so.1.2"), "libreverb.so");
  EXPECT_EQ(CauseModule("libreverb-2.31.so"), "libreverb.so");
  EXPECT_EQ(CauseModule("libQt5Core.so.5"), "libQt5Core.so");
  EXPECT_EQ(CauseModule("editor"), "editor");
}

}  // namespace
}  // namespace lagwatch::collector
