// SPDX-License-Identifier: Apache-2.0
// Lua programs under `lagwatch run`: the reported frames against those that Lua itself sees.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/testing/process.h"
#include "tests/tools/run/script_testing.h"

namespace lagwatch::tools {
namespace {

constexpr const char* kLanguage = "[lua]";

class LuaTest : public ScriptTest,
                public ::testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(LuaTest, ReportsNameTheLinesThatLuaItselfSees) {
  const auto& [lua, freeze] = GetParam();
  ExpectTheStackThatItPrints({std::string("/usr/bin/") + lua, LAGWATCH_LUA_PROGRAM, freeze}, kLanguage);
}

std::string NameOf(const ::testing::TestParamInfo<LuaTest::ParamType>& given) {
  std::string name = std::string(std::get<0>(given.param)) + "_" + std::get<1>(given.param);
  std::erase(name, '.');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Freezes, LuaTest,
                         ::testing::Combine(::testing::Values("lua5.4", "luajit"),
                                            ::testing::Values("sleep", "spin", "sort", "pattern",
                                                              "metamethod", "protected", "iterator",
                                                              "chunk")),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Versions, LuaTest,
                         ::testing::Combine(::testing::Values("lua5.1", "lua5.2", "lua5.3", "lua5.4",
                                                              "luajit"),
                                            ::testing::Values("coroutine")),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Loops, LuaTest,
                         ::testing::Combine(::testing::Values("lua5.1", "lua5.3"), ::testing::Values("spin")),
                         NameOf);

// The interpreter is a part of the program, whose own frames stay.
class RedisTest : public ScriptTest {
 protected:
  void SetUp() override {
    program_.emplace(Watched({"/usr/bin/redis-server", "--port", "0", "--unixsocket", socket_, "--save", "",
                              "--appendonly", "no", "--dir", directory_.path()}));
    ASSERT_TRUE(testing::WaitUntil([&] { return Command({"ping"}) == "PONG\n"; }));
  }
  std::string Command(std::vector<std::string> words) const {
    words.insert(words.begin(), {"/usr/bin/redis-cli", "-s", socket_});
    Process client(words);
    static_cast<void>(client.Wait());  // the answer shows whether it is good
    return client.Output();
  }
  void End() {
    Command({"shutdown", "nosave"});
    EXPECT_EQ(program_->Wait(), 0);
  }
  // The expensive stack of the report that has frames of a script; empty if there is none.
  json ScriptStack() const {
    for (const json& header : Ask({"reports"})) {
      const json stack = Ask({"report", header.at("id")}).at("expensive_stack");
      if (!ScriptFramesOf(stack, kLanguage).empty()) return stack;
    }
    return json::array();
  }
  static bool Has(const json& stack, const std::string& function) {
    return std::ranges::any_of(stack,
                               [&](const json& frame) { return frame.value("function", "") == function; });
  }

  std::string socket_ = directory_ / "redis.sock";
  std::optional<Process> program_;
};

TEST_F(RedisTest, ReportNamesTheLineOfALoopInAScript) {
  Command({"eval", "local function spin()\n  for _ = 1, 300000000 do\n  end\nend\nspin()\nreturn 1", "0"});
  End();
  const json stack = ScriptStack();
  EXPECT_EQ(ScriptFramesOf(stack, kLanguage), (Frames{"spin (user_script):2", "main chunk (user_script):5"}))
      << stack.dump(1);
  EXPECT_TRUE(Has(stack, "evalGenericCommand") || Has(stack, "evalCommand")) << stack.dump(1);
  EXPECT_FALSE(Has(stack, "lua_pcall")) << stack.dump(1);
}

TEST_F(RedisTest, ReportNamesTheLineThatCalledASlowCommand) {
  Command(
      {"eval", "for i = 1, 50000 do\n  redis.call('rpush', KEYS[1], math.random(1e9))\nend", "1", "list"});
  Command({"eval",
           "local turns = 100\nfor i = 1, turns do\n  redis.call('sort', KEYS[1], 'limit', 0, 1)\nend", "1",
           "list"});
  End();
  const json stack = ScriptStack();
  const Frames frames = ScriptFramesOf(stack, kLanguage);
  EXPECT_TRUE(frames == Frames{"main chunk (user_script):3"} ||
              frames == Frames{"main chunk (user_script):2"})
      << stack.dump(1);
  // The command's own functions are above the script's, and those that run the script below.
  EXPECT_TRUE(Has(stack, "call")) << stack.dump(1);
}

}  // namespace
}  // namespace lagwatch::tools
