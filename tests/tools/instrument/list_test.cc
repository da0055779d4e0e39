// SPDX-License-Identifier: Apache-2.0
// `lagwatch instrument list`: the functions of a file, by rules and by what mechanisms can do.
#include "tests/tools/instrument/instrument_testing.h"

namespace lagwatch::tools {
namespace {

using nlohmann::json;

constexpr char kSave[] = "shop::Save(shop::Cart const&)";

TEST_F(InstrumentTest, ListsWhatRulesTakeAndTheLineThatDecides) {
  const std::string rules =
      Rules("- *\n+ namespace shop\n- namespace shop::detail\n+ ruled_program!add_*\n+ file generated/*\n");
  const auto functions = List({LAGWATCH_RULED_PROGRAM, "--rules", rules});
  EXPECT_EQ(functions.at(kSave)["taken"], true);
  EXPECT_EQ(functions.at(kSave)["rule"]["line"], 2);
  EXPECT_EQ(functions.at("shop::detail::Check(int)")["taken"], false);
  EXPECT_EQ(functions.at("shop::detail::Check(int)")["rule"]["text"], "- namespace shop::detail");
  EXPECT_EQ(functions.at("add_numbers")["taken"], true);
  EXPECT_EQ(functions.at("find_in_table")["taken"], true);
  EXPECT_THAT(functions.at("find_in_table")["file"].get<std::string>(), HasSubstr("generated/table.cc"));
  EXPECT_EQ(functions.at("main")["taken"], false);
}

TEST_F(InstrumentTest, ListsWithoutRulesTakeAll) {
  const auto functions = List({LAGWATCH_RULED_PROGRAM});
  EXPECT_EQ(functions.at("main")["taken"], true);
  EXPECT_TRUE(functions.at("main")["rule"].is_null());
  EXPECT_EQ(functions.at("main")["patch"], json({{"can", true}, {"reason", nullptr}}));
  EXPECT_EQ(functions.at("main")["probe"]["can"], true);
}

TEST_F(InstrumentTest, ListsTheReasonsOfTheMechanisms) {
  const auto functions = List({LAGWATCH_PLAIN_PROGRAM});
  EXPECT_EQ(functions.at("add_numbers")["patch"]["reason"], "built without -fpatchable-function-entry");
  EXPECT_EQ(functions.at("add_numbers")["probe"]["can"], true);
  const auto of_libc = List({"/lib/x86_64-linux-gnu/libc.so.6"});
  EXPECT_THAT(of_libc.at("setjmp")["probe"]["reason"].get<std::string>(), HasSubstr("returns twice"));
  EXPECT_EQ(of_libc.at("setjmp")["probe"]["can"], false);
  EXPECT_THAT(of_libc.at("dlsym")["probe"]["reason"].get<std::string>(), HasSubstr("return address"));
  size_t can = 0;
  for (const auto& [name, function] : of_libc) can += function["probe"]["can"].get<bool>() ? 1 : 0;
  EXPECT_GT(can, of_libc.size() * 9 / 10);
}

TEST_F(InstrumentTest, ListsAsText) {
  ASSERT_EQ(Run({"instrument", "list", LAGWATCH_RULED_PROGRAM, "--rules", Rules("- namespace shop\n")}), 0)
      << errors_;
  EXPECT_THAT(output_, HasSubstr("left out, line 1: - namespace shop"));
  EXPECT_THAT(output_, HasSubstr("flags for patching at run time: -fpatchable-function-entry=5"));
  EXPECT_THAT(output_, HasSubstr("-finstrument-functions-exclude-function-list=shop::"));
}

TEST_F(InstrumentTest, RefusesBadRulesWithLineAndColumn) {
  const std::string rules = Rules("+ *\n- namspace std\n");
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"instrument", "list", LAGWATCH_RULED_PROGRAM, "--rules", rules},
           {"trace", "record", "--rules", rules, "-o", directory_ / "x", "--", LAGWATCH_RULED_PROGRAM}}) {
    EXPECT_EQ(Run(command), 2) << output_;
    EXPECT_THAT(errors_,
                HasSubstr(rules + ": line 2, column 3: unknown kind 'namspace': did you mean namespace?"));
  }
}

TEST_F(InstrumentTest, RefusesWhatIsNoProgram) {
  EXPECT_EQ(Run({"instrument", "list", "/no/such/file"}), 2);
  EXPECT_THAT(errors_, HasSubstr("there is no file /no/such/file"));
  EXPECT_EQ(Run({"instrument", "list", LAGWATCH_SHOP_SOURCE}), 2);
  EXPECT_THAT(errors_, HasSubstr("is not a program or library"));
  std::ofstream(directory_ / "cut", std::ios::binary)
      << std::string("\177ELF\2\1\1", 7) << std::string(200, '\7');
  EXPECT_EQ(Run({"instrument", "list", directory_ / "cut"}), 2);
}

// The flags have GCC leave out what the rules leave out.
TEST_F(InstrumentTest, FlagsForHooksHoldForTheCompiler) {
  if (std::string(LAGWATCH_GCC).empty()) GTEST_SKIP() << "the compiler is not GCC";
  List(
      {LAGWATCH_RULED_PROGRAM, "--rules", Rules("- namespace shop::detail\n- shop::Freeze\n- shop::Hid?\n")});
  std::vector<std::string> command = {
      LAGWATCH_GCC,          "-std=c++20",        "-O1", "-S", "-I", LAGWATCH_SOURCES, "-o",
      directory_ / "shop.s", LAGWATCH_SHOP_SOURCE};
  for (const auto& flag : answer_["flags"]["hooks"]) command.push_back(flag);
  EXPECT_TRUE(answer_["flags"]["hooked_too"].empty()) << answer_["flags"];
  Process compiler(command);
  ASSERT_EQ(compiler.Wait(), 0) << compiler.Errors();
  std::map<std::string, bool> is_hooked;
  std::ifstream assembly(directory_ / "shop.s");
  std::string function;
  for (std::string line; std::getline(assembly, line);) {
    if (line.ends_with(':') && line.starts_with('_')) is_hooked[function = line] = false;
    if (line.find("__cyg_profile_func_enter") != std::string::npos) is_hooked[function] = true;
  }
  EXPECT_TRUE(is_hooked["_ZN4shop4SaveERKNS_4CartE:"] && is_hooked["_ZN4shop4LoadEi:"]);
  EXPECT_FALSE(is_hooked["_ZN4shop6detail5CheckEi:"] || is_hooked["_ZN4shop6FreezeEi:"]);
  EXPECT_FALSE(is_hooked["_ZN4shop12_GLOBAL__N_14HideEi:"]);
}

}  // namespace
}  // namespace lagwatch::tools
