// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/rules/instrument_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/testing/temp_directory.h"
#include "trace/instrument/rules/function_names.h"

namespace lagwatch::trace {
namespace {

using ::testing::HasSubstr;

constexpr char kSave[] = "_ZN6Editor4SaveER8Document";              // Editor::Save(Document&)
constexpr char kHidden[] = "_ZN4shop12_GLOBAL__N_14FindIiEET_PKc";  // int shop::(anonymous …)::Find<int>(…)
constexpr char kPushBack[] = "_ZNSt6vectorIiSaIiEE9push_backERKi";  // std::vector<…>::push_back(int const&)
constexpr char kCall[] = "_ZNK6EditorclEv";                         // Editor::operator()() const

InstrumentRules RulesOf(std::string_view text) {
  auto rules = InstrumentRules::Parse(text);
  EXPECT_TRUE(rules.ok()) << rules.status().message();
  return rules.ok() ? *rules : InstrumentRules();
}

bool IsTaken(std::string_view rules, const std::string& symbol,
             std::string_view module = "/opt/lib/libeditor.so.2", const std::string& file = "") {
  return RulesOf(rules)
      .Decide({.module = module, .build_id = "", .offset = 0x10, .symbol = symbol, .source_file = file})
      .is_taken;
}

std::string ErrorOf(std::string_view text) {
  const auto rules = InstrumentRules::Parse(text);
  return rules.ok() ? "accepted" : rules.status().message();
}

TEST(FunctionNames, LeaveOutWhatPeopleDoNotWrite) {
  EXPECT_EQ(FunctionNames::Of(kSave).plain, "Editor::Save");
  EXPECT_EQ(FunctionNames::Of(kSave).whole, "Editor::Save(Document&)");
  EXPECT_EQ(FunctionNames::Of(kHidden).plain, "shop::Find<int>");
  EXPECT_EQ(FunctionNames::Of(kCall).plain, "Editor::operator()");
  EXPECT_EQ(FunctionNames::Of("_ZN6EditorcvbEv").plain, "Editor::operator bool");
  EXPECT_EQ(FunctionNames::Of("_ZN6EditorlsEi").plain, "Editor::operator<<");
  EXPECT_EQ(FunctionNames::Of("dictFind.constprop.0").plain, "dictFind");
  EXPECT_EQ(FunctionNames::Of("memcpy@@GLIBC_2.14").symbol, "memcpy");
  EXPECT_EQ(FunctionNames::Of("").whole, "");
}

TEST(InstrumentRules, TheLastThatMatchesDecides) {
  const char* rules = "- *\n+ Editor::*\n- Editor::Save\n";
  EXPECT_FALSE(IsTaken(rules, kSave));
  EXPECT_TRUE(IsTaken(rules, kCall));
  EXPECT_FALSE(IsTaken(rules, "main"));
  EXPECT_TRUE(IsTaken("- *Save*\n+ *Save*", kSave));
}

TEST(InstrumentRules, TheFirstSaysWhatHappensToTheRest) {
  EXPECT_TRUE(IsTaken("", "main"));
  EXPECT_TRUE(IsTaken("# nothing\n\n- Editor::*\n", "main"));
  EXPECT_FALSE(IsTaken("+ Editor::*\n", "main"));
}

TEST(InstrumentRules, FunctionsAreMeantByAnyOfTheirNames) {
  for (const char* rule : {"+ Editor::Save", "+ Editor::Save(Document&)", "+ _ZN6Editor4SaveER8Document",
                           "+ *::Sav?", "+ function Editor::Save", "+   function\tEditor::*  \r"})
    EXPECT_TRUE(IsTaken(rule, kSave)) << rule;
  EXPECT_FALSE(IsTaken("+ Save", kSave));
  EXPECT_TRUE(IsTaken("+ shop::Find<*", kHidden));
  EXPECT_FALSE(IsTaken("+ *\n", ""));
}

TEST(InstrumentRules, NamespacesHoldWhatIsInsideOfThem) {
  EXPECT_FALSE(IsTaken("- namespace std", kPushBack));
  EXPECT_FALSE(IsTaken("- namespace std::vector*", kPushBack));
  EXPECT_TRUE(IsTaken("- namespace st", kPushBack));
  EXPECT_FALSE(IsTaken("- namespace shop::(anonymous namespace)", "_ZN4shop12_GLOBAL__N_11FEv"));
  EXPECT_TRUE(IsTaken("- namespace *", "main"));
}

TEST(InstrumentRules, ModulesAreMeantByTheirFilesNames) {
  for (const char* rule :
       {"- module libeditor", "- module libeditor.so.2", "- module lib*", "- libeditor!Editor::*"})
    EXPECT_FALSE(IsTaken(rule, kSave)) << rule;
  EXPECT_TRUE(IsTaken("- libother!Editor::*", kSave));
  EXPECT_TRUE(RulesOf("- module libeditor\n+ Editor::*").MayTakeIn("libeditor.so"));
  EXPECT_FALSE(RulesOf("+ Editor::*\n- module libeditor").MayTakeIn("libeditor.so"));
  EXPECT_FALSE(RulesOf("+ module libeditor").MayTakeIn("libc.so.6"));
  EXPECT_FALSE(RulesOf("+ libeditor!*").MayTakeIn("libc.so.6"));
  EXPECT_TRUE(RulesOf("- Editor::*").MayTakeIn("libc.so.6"));
}

TEST(InstrumentRules, FilesAreMeantByPathOrName) {
  for (const char* rule :
       {"- file cart.cc", "- file src/cart.cc", "- file /work/shop/src/*", "- file *art.cc"})
    EXPECT_FALSE(IsTaken(rule, kSave, "editor", "/work/shop/src/cart.cc")) << rule;
  EXPECT_TRUE(IsTaken("- file rc/cart.cc", kSave, "editor", "/work/shop/src/cart.cc"));
  EXPECT_TRUE(IsTaken("- file *", kSave));
}

TEST(InstrumentRules, PlacesAreThoseOfOneBuild) {
  const InstrumentRules rules = RulesOf("+ places ab01 20 10 ff");
  const auto is_taken = [&](std::string_view build_id, uint64_t offset) {
    return rules.Decide({.module = "editor", .build_id = build_id, .offset = offset, .symbol = ""}).is_taken;
  };
  EXPECT_TRUE(is_taken("\xab\x01", 0x10) && is_taken("\xab\x01", 0xff));
  EXPECT_FALSE(is_taken("\xab\x01", 0x11) || is_taken("\xab\x02", 0x10));
  EXPECT_EQ(rules.ToText(), "+ places ab01 10 20 ff\n");
}

TEST(InstrumentRules, ADecisionNamesItsLine) {
  const InstrumentRules rules = RulesOf("# rules\n+ *\n  - Editor::*  # no comment\n- *Save*\n");
  const auto decision = rules.Decide({.module = "editor", .build_id = "", .symbol = kSave});
  ASSERT_NE(decision.rule, nullptr);
  EXPECT_EQ(decision.rule->line, 4U);
  EXPECT_EQ(decision.rule->text, "- *Save*");
}

TEST(InstrumentRules, ErrorsSayLineAndColumn) {
  EXPECT_THAT(ErrorOf("+ *\n  Editor::*\n"), HasSubstr("line 2, column 3: a rule begins with '+'"));
  EXPECT_THAT(ErrorOf("+"), HasSubstr("line 1, column 2: a pattern is missing"));
  EXPECT_THAT(ErrorOf("- namespace  "),
              HasSubstr("line 1, column 12: a pattern is missing behind 'namespace'"));
  EXPECT_THAT(ErrorOf("\n- nmespace std"),
              HasSubstr("line 2, column 3: unknown kind 'nmespace': did you mean namespace?"));
  EXPECT_THAT(ErrorOf("- modlue libc"), HasSubstr("did you mean module?"));
  EXPECT_THAT(ErrorOf("- libc!"), HasSubstr("line 1, column 8: a pattern is missing behind '!'"));
  EXPECT_THAT(ErrorOf("+ places xyz 10"), HasSubstr("line 1, column 10: a build id"));
  EXPECT_THAT(ErrorOf("+ " + std::string(5000, 'a')), HasSubstr("longer than 4096 bytes"));
  EXPECT_EQ(ErrorOf("- operator new(unsigned long)\n- Editor::operator!"), "accepted");
}

TEST(InstrumentRules, AreReadFromAFileBesideTheProgram) {
  const testing::ScopedTempDirectory directory;
  const std::string program = directory / "editor";
  EXPECT_EQ(InstrumentRules::PathBeside(program), "");
  const std::string file = directory / "instrument.rules";
  std::ofstream(file) << "+ Editor::*\nbad\n";
  EXPECT_EQ(InstrumentRules::PathBeside(program), file);
  const auto rules = InstrumentRules::Read(file);
  ASSERT_FALSE(rules.ok());
  EXPECT_THAT(rules.status().message(), HasSubstr(file + ": line 2, column 1"));
  EXPECT_EQ(InstrumentRules::Read(directory / "none").status().code(), base::StatusCode::kNotFound);
}

}  // namespace
}  // namespace lagwatch::trace
