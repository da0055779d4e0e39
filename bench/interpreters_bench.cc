// SPDX-License-Identifier: Apache-2.0
// Frames of scripts, read from outside of real interpreters: Debian's Java, Lua, Node, Perl, PHP, Python and
// Ruby, all below /usr/lib/jvm, and those in LAGWATCH_PYTHONS and LAGWATCH_NODES. Prints frames_right_pct
// against the run time's own at 200 known stops, us_per_stack of the slowest; crashes in 100,000 captures of
// each while it changes its data as fast as it can.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "bench/interpreters/other_process.h"
#include "bench/interpreters/readers.h"
#include "tests/jvm/javas.h"
#include "tests/stack/interpreters/nodes.h"
#include "tests/stack/interpreters/pythons.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using interpreters_bench::StackReader;
using testing::Process;

struct Runtime {
  std::string name;
  std::string program;
  std::string shapes;
  std::unique_ptr<StackReader> (*attach)(pid_t pid);
  size_t (*count_right)(const std::vector<std::string>& expected, const std::vector<std::string>& got);
  std::vector<std::string> options = {};

  std::vector<std::string> Command(std::vector<std::string> arguments) const {
    std::vector<std::string> command = {program};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back(shapes);
    command.insert(command.end(), arguments.begin(), arguments.end());
    return command;
  }
};

struct Result {
  uint64_t frames = 0;
  uint64_t frames_right = 0;
  uint64_t captures = 0;
  uint64_t captures_with_frames = 0;
  double us_per_stack = 0;
  uint64_t crashes = 0;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

size_t CountEqual(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  size_t right = 0;
  if (got.size() != expected.size()) return 0;
  for (size_t i = 0; i < got.size(); ++i) right += got[i] == expected[i];
  return right;
}

// The frames of `got` that are as in `expected`, from the outermost on. It may have more inner ones, those of
// the call that waits, and lack some of V8's own functions.
size_t CountEqualOfV8(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  size_t right = 0;
  for (size_t i = expected.size(), j = got.size(); i != 0 && j != 0; --i) {
    const bool is_right = expected[i - 1] == got[j - 1];
    right += is_right;
    if (is_right || !expected[i - 1].ends_with("(native):0")) --j;
  }
  return right;
}

// The same from the outermost on: it may have more inner ones, those of the call that waits.
size_t CountEqualOfJava(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  size_t right = 0;
  for (size_t i = 1; i <= std::min(expected.size(), got.size()); ++i)
    right += expected[expected.size() - i] == got[got.size() - i];
  return right;
}

void CompareStops(const Runtime& runtime, size_t stops, Result* result) {
  Process program(runtime.Command({"stops", std::to_string(stops), "7"}));
  std::unique_ptr<StackReader> reader;
  double spent_us = 0;
  for (size_t i = 0; i < stops; ++i) {
    std::vector<std::string> lines;
    testing::WaitUntil([&] {
      lines = Split(program.Output(), '\n');
      return lines.size() > i && program.Output().ends_with('\n');
    });
    if (lines.size() <= i) break;
    if (reader == nullptr) reader = runtime.attach(program.pid());
    if (reader == nullptr) break;
    const std::vector<std::string> expected = Split(lines[i], '|');
    result->frames += expected.size();
    usleep(1000);  // from the line that it prints to the one that waits
    reader->Capture();
    const auto begin = std::chrono::steady_clock::now();
    const bool is_read = reader->Read();
    spent_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    const std::string text = is_read ? reader->Text() : "";
    const std::vector<std::string> got = Split(text, '|');
    const size_t right = runtime.count_right(expected, got);
    result->frames_right += right;
    if (right != expected.size())
      std::fprintf(stderr, "%s: expected %s\n  got %s\n", runtime.name.c_str(), lines[i].c_str(),
                   text.c_str());
    program.WriteInput("\n");
  }
  result->us_per_stack = spent_us / static_cast<double>(stops);
}

void ReadWhileItChurns(const Runtime& runtime, uint64_t captures, Result* result) {
  Process program(runtime.Command({"churn"}));
  testing::WaitUntil([&] { return program.Output().ends_with('\n'); });
  const std::unique_ptr<StackReader> reader = runtime.attach(program.pid());
  if (reader == nullptr) return;
  for (result->captures = 0; result->captures < captures; ++result->captures) {
    reader->Capture();
    result->captures_with_frames += reader->Read();
  }
  result->crashes += kill(program.pid(), 0) != 0;
}

std::vector<Runtime> AllRuntimes(const std::string& source) {
  std::vector<Runtime> runtimes;
  for (const std::string& python : testing::Pythons()) {
    Process version({python, "-c", "import platform; print(platform.python_version(), end='')"});
    static_cast<void>(version.Wait());
    runtimes.push_back({"cpython " + version.Output(), python, source + "/shapes.py",
                        interpreters_bench::AttachToPython, CountEqual});
  }
  for (const std::string version : {"5.1", "5.2", "5.3", "5.4"}) {
    const std::string program = "/usr/bin/lua" + version;
    if (access(program.c_str(), X_OK) == 0)
      runtimes.push_back(
          {"lua " + version, program, source + "/shapes.lua", interpreters_bench::AttachToLua, CountEqual});
  }
  if (access("/usr/bin/luajit", X_OK) == 0) {
    for (const std::string compiler : {"on", "off"})
      runtimes.push_back({"luajit 2.1, compiler " + compiler,
                          "/usr/bin/luajit",
                          source + "/shapes.lua",
                          interpreters_bench::AttachToLua,
                          CountEqual,
                          {"-j" + compiler}});
  }
  if (access("/usr/bin/perl", X_OK) == 0)
    runtimes.push_back(
        {"perl 5.36", "/usr/bin/perl", source + "/shapes.pl", interpreters_bench::AttachToPerl, CountEqual});
  if (access("/usr/bin/php", X_OK) == 0)
    runtimes.push_back(
        {"php 8.2", "/usr/bin/php", source + "/shapes.php", interpreters_bench::AttachToPhp, CountEqual});
  if (access("/usr/bin/ruby", X_OK) == 0)
    runtimes.push_back(
        {"ruby 3.1", "/usr/bin/ruby", source + "/shapes.rb", interpreters_bench::AttachToRuby, CountEqual});
  for (const std::string& node : testing::Nodes()) {
    Process version({node, "-p", "process.versions.node"});
    if (version.Wait() != 0) continue;
    runtimes.push_back({"node " + Split(version.Output(), '\n').at(0), node, source + "/shapes.js",
                        interpreters_bench::AttachToV8, CountEqualOfV8});
  }
  for (const std::string& java : testing::Javas()) {
    const std::string home = java.substr(0, java.rfind("/bin/"));
    runtimes.push_back({"java " + home.substr(home.rfind('/') + 1),
                        java,
                        source + "/Shapes.java",
                        interpreters_bench::AttachToJava,
                        CountEqualOfJava,
                        {"-Xmx256m"}});
  }
  return runtimes;
}

int Main(const std::string& source, size_t stops, uint64_t captures, const std::string& only) {
  nlohmann::json all = nlohmann::json::object();
  Result sum;
  double slowest_us = 0;
  for (const Runtime& runtime : AllRuntimes(source)) {
    if (runtime.name.find(only) == std::string::npos) continue;
    Result result;
    CompareStops(runtime, stops, &result);
    ReadWhileItChurns(runtime, captures, &result);
    const double right_pct = result.frames == 0 ? 0
                                                : 100.0 * static_cast<double>(result.frames_right) /
                                                      static_cast<double>(result.frames);
    all[runtime.name] = {{"frames", result.frames},
                         {"frames_right_pct", right_pct},
                         {"us_per_stack", result.us_per_stack},
                         {"captures", result.captures},
                         {"captures_with_frames", result.captures_with_frames},
                         {"crashes", result.crashes}};
    sum.frames += result.frames;
    sum.frames_right += result.frames_right;
    sum.captures += result.captures;
    sum.crashes += result.crashes;
    slowest_us = std::max(slowest_us, result.us_per_stack);
  }
  const nlohmann::json line = {
      {"frames_right_pct", 100.0 * static_cast<double>(sum.frames_right) / static_cast<double>(sum.frames)},
      {"us_per_stack", slowest_us},
      {"captures", sum.captures},
      {"crashes", sum.crashes},
      {"runtimes", all}};
  std::printf("%s\n", line.dump().c_str());
  return 0;
}

}  // namespace
}  // namespace lagwatch

int main(int argc, char** argv) {
  const size_t stops = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200;
  const uint64_t captures = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100'000;
  const std::string only = argc > 3 ? argv[3] : "";  // a part of the run times' names
  return lagwatch::Main(LAGWATCH_SHAPES, stops, captures, only);
}
