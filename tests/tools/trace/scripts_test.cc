// SPDX-License-Identifier: Apache-2.0
// Traces of scripts: functions, files and lines in place of the interpreter's frames, with the shares of the
// time that the script itself measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "tests/tools/trace/recorded.h"
#include "tests/tools/trace/top_pages.h"
#include "trace/export/export.h"
#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using testing::kMs;
using testing::Process;
using testing::TotalsByName;
using testing::TraceDirectory;

struct Lines {
  uint32_t first;
  uint32_t last;
};
struct Script {
  const char* language;
  const char* interpreter;
  const char* file;
  Lines light_lines;
  Lines heavy_lines;

  friend void PrintTo(const Script& script, std::ostream* stream) { *stream << script.interpreter; }
};

const Script kPython = {"python", "/usr/bin/python3", "shares.py", {8, 12}, {15, 19}};
const Script kNode = {"javascript", "/usr/bin/node", "shares.js", {3, 7}, {9, 13}};
const Script kLua = {"lua", "/usr/bin/lua5.4", "shares.lua", {3, 7}, {9, 13}};
const Script kLuaJit = {"lua", "/usr/bin/luajit", "shares.lua", {3, 7}, {9, 13}};
const Script kRuby = {"ruby", "/usr/bin/ruby", "shares.rb", {3, 7}, {9, 13}};
const Script kJava = {"java", "/usr/bin/java", "Shares.java", {7, 9}, {11, 13}};

std::vector<std::string> CommandOf(const Script& script, const char* seconds) {
  return {script.interpreter, std::string(LAGWATCH_SCRIPTS) + "/" + script.file, seconds};
}

bool IsScript(const trace::Trace& trace, const trace::NamedFrame& frame) {
  return frame.module < trace.modules.size() && trace.modules[frame.module].path.starts_with("[");
}

class ScriptTrace : public ::testing::TestWithParam<Script> {};

TEST_P(ScriptTrace, FunctionsHaveTheirLinesAndShares) {
  const Script& script = GetParam();
  if (!std::ifstream(script.interpreter)) GTEST_SKIP() << "no " << script.interpreter;
  TraceDirectory directory;
  Process recorder(directory.RecordCommand({"--interval-ms", "2", "--no-hooks"}, CommandOf(script, "0.8")));
  ASSERT_EQ(recorder.Wait(), 0) << recorder.Errors();
  const double true_share = std::strtod(recorder.Output().c_str(), nullptr);
  ASSERT_GT(true_share, 0.5) << recorder.Output();

  const trace::Trace trace = directory.Read();
  int64_t light_ns = 0;
  int64_t heavy_ns = 0;
  int64_t lineless_ns = 0;  // read when the run time had freed its tables, at its end
  const trace::StackWeights weights = trace::WeighStacks(trace);
  for (const trace::StackTime& weighted : weights.stacks) {
    // The innermost frame of the script; functions of the C library may be above it.
    uint32_t node = weighted.stack;
    while (node != trace::kNoIndex && !IsScript(trace, trace.frames[weights.nodes[node].frame]))
      node = weights.nodes[node].parent;
    if (node == trace::kNoIndex) continue;
    const trace::NamedFrame& frame = trace.frames[weights.nodes[node].frame];
    for (const auto& [name, lines, sum_ns] : {std::tuple("light", script.light_lines, &light_ns),
                                              std::tuple("heavy", script.heavy_lines, &heavy_ns)}) {
      // A Ruby block and a Java method have more in front of it.
      if (!frame.name.ends_with(name + std::string(" (") + script.file + ")")) continue;
      *sum_ns += weighted.time_ns;
      EXPECT_EQ(trace.modules[frame.module].path, std::string("[") + script.language + "]");
      EXPECT_EQ(frame.file, script.file);
      if (frame.line == 0) {
        lineless_ns += weighted.time_ns;
        continue;
      }
      EXPECT_GE(frame.line, lines.first) << frame.name;
      EXPECT_LE(frame.line, lines.last) << frame.name;
    }
  }
  EXPECT_LT(lineless_ns, (light_ns + heavy_ns) / 10);
  ASSERT_GT(light_ns + heavy_ns, 300 * kMs) << testing::LossesOf(trace);
  // 100 looks: three standard deviations are 0.13.
  EXPECT_NEAR(static_cast<double>(heavy_ns) / static_cast<double>(light_ns + heavy_ns), true_share, 0.15);
}

std::string NameOf(const ::testing::TestParamInfo<Script>& info) {
  std::string name = info.param.interpreter;
  name.erase(0, name.rfind('/') + 1);
  std::erase(name, '.');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Languages, ScriptTrace,
                         ::testing::Values(kPython, kNode, kLua, kLuaJit, kRuby
#ifdef LAGWATCH_HAS_JDK
                                           ,
                                           kJava
#endif
                                           ),
                         NameOf);

TEST(ScriptTraceTest, ARestingThreadAndItsLineAreInAllFormats) {
  TraceDirectory directory;
  Process recorder(directory.RecordCommand({}, CommandOf(kPython, "0.6")));
  ASSERT_EQ(recorder.Wait(), 0) << recorder.Errors();
  const trace::Trace trace = directory.Read();
  std::map<std::string, int64_t> totals_ns = TotalsByName(trace);
  EXPECT_GT(totals_ns["rest (shares.py)"], 400 * kMs) << testing::LossesOf(trace);
  EXPECT_GT(totals_ns["heavy (shares.py)"], 100 * kMs) << testing::LossesOf(trace);
  // While Python itself starts, no script runs.
  EXPECT_LT(totals_ns["_PyEval_EvalFrameDefault"], 200 * kMs);

  for (const trace::FormatInfo& format : trace::Formats()) {
    const std::string text = trace::Export(format.format, trace).value();
    if (format.name == "pprof" || format.name == "nanoscope")
      continue;  // compressed; of the main thread only
    const std::string rest = format.name == "collapsed" ? "rest (shares.py:23)" : "rest (shares.py)";
    EXPECT_THAT(text, HasSubstr(rest)) << format.name;
  }
}

TEST(ScriptTraceTest, TopShowsTheLineThatTookTheMostTime) {
  std::vector<std::string> flags = {"--count", "1", "--refresh", "0.8", "--all", "--"};
  const std::vector<std::string> command = CommandOf(kPython, "60");
  flags.insert(flags.end(), command.begin(), command.end());
  Process top(testing::TopCommand(flags));
  ASSERT_EQ(top.Wait(), 0) << top.Errors();
  const auto pages = testing::ParseTopPages(top.Output());
  ASSERT_FALSE(pages.empty()) << top.Output();
  ASSERT_FALSE(pages.back().rows.empty()) << top.Output();
  const bool had_processor = pages.back().processor_percent > 40;  // else it has few samples
  if (had_processor) {
    EXPECT_THAT(pages.back().rows[0].function,
                ::testing::AnyOf("heavy (shares.py:17)", "heavy (shares.py:18)"))
        << top.Output();
  }
  EXPECT_THAT(top.Output(), HasSubstr("[python]"));
}

}  // namespace
}  // namespace lagwatch::tools
