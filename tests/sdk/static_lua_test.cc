// SPDX-License-Identifier: Apache-2.0
// A Lua that is linked into the program, which does not export its functions (lw_register_lua).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lagwatch/lagwatch.h>
#include <lagwatch/lua.h>

#include <lua.hpp>
#include <memory>
#include <string>
#include <vector>

#include "report/format/report.h"
#include "tests/sdk/sdk_testing.h"

namespace lagwatch {
namespace {

using ::testing::Contains;
using ::testing::Not;

class StaticLuaTest : public SdkTest {
 protected:
  StaticLuaTest() { luaL_openlibs(lua_.get()); }

  // The names of the functions of scripts in the report of a dispatch whose script waits for a child.
  std::vector<std::string> NamesInAReport() {
    const size_t before = Reports().size();
    auto monitor = Monitor::Start(TestOptions());
    EXPECT_TRUE(monitor.is_on()) << monitor.why_off();
    const Loop loop = monitor.WatchLoop("ui");
    EXPECT_TRUE(testing::WaitUntil([&] {
      const ScopedDispatch dispatch(loop, "script");
      EXPECT_EQ(luaL_dostring(lua_.get(),
                              "local function import_orders()\n"
                              "  os.execute('sleep 0.6')\n"
                              "end\n"
                              "import_orders()\n"),
                0);
      return Reports().size() > before;
    }));
    const report::Report report = Reports()[before];
    std::vector<std::string> names;
    for (const report::Symbol& symbol : report.symbols) names.push_back(symbol.name);
    return names;
  }

  std::unique_ptr<lua_State, decltype(&lua_close)> lua_{luaL_newstate(), &lua_close};
};

TEST_F(StaticLuaTest, HasTheScriptsFunctionsOnceItIsRegistered) {
  EXPECT_THAT(NamesInAReport(), Not(Contains(::testing::HasSubstr("import_orders"))));
  lw_register_lua();
  EXPECT_THAT(NamesInAReport(), Contains(::testing::StartsWith("import_orders (")));
  const lw_function known{"lua_newstate", reinterpret_cast<void (*)()>(&lua_newstate)};
  EXPECT_EQ(lw_register_functions(&known, 1), 1u);  // once more
  const lw_function nothing[] = {{nullptr, nullptr}, {"lua_newstate", nullptr}, {"", known.address}};
  EXPECT_EQ(lw_register_functions(nothing, 3), 0u);
  EXPECT_EQ(lw_register_functions(nullptr, 3), 0u);
}

}  // namespace
}  // namespace lagwatch
