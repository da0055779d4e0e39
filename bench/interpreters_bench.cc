// SPDX-License-Identifier: Apache-2.0
// Frames of scripts, read from outside of real interpreters: those that a run time itself sees at known
// stops, and any number while it changes its data as fast as it can.
#include <sys/uio.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/interpreters/node_stacks.h"
#include "stack/interpreters/exported_symbols.h"
#include "stack/interpreters/python/reader.h"
#include "stack/scripts/script_functions.h"
#include "tests/stack/interpreters/nodes.h"
#include "tests/stack/interpreters/pythons.h"
#include "tests/testing/process.h"

namespace lagwatch {
namespace {

using testing::Process;

class OtherMemory final : public stack::Memory {
 public:
  explicit OtherMemory(pid_t pid) : pid_(pid) {}

 protected:
  bool ReadBytes(uint64_t address, void* destination, size_t size_bytes) override {
    iovec local{destination, size_bytes};
    iovec remote{reinterpret_cast<void*>(address), size_bytes};
    return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size_bytes);
  }

 private:
  pid_t pid_;
};

int MinorVersionOf(const std::string& path) {
  const size_t at = path.rfind("python3.");
  return at == path.npos ? 0 : std::atoi(path.c_str() + at + 8);
}

// The reader of a process's interpreter; null until it is loaded.
std::unique_ptr<stack::python::Reader> Attach(pid_t pid, stack::Memory* memory) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::string last;
  for (std::string line; std::getline(maps, line);) {
    const size_t slash = line.find('/');
    if (slash == line.npos || line.substr(slash) == last) continue;
    last = line.substr(slash);
    const uint64_t base = std::stoull(line, nullptr, 16);
    uint16_t type = 0;
    constexpr uint64_t kTypeOffset = 16;
    constexpr uint16_t kFixed = 2;
    if (!memory->Read(base + kTypeOffset, &type)) continue;
    const stack::ExportedSymbols exports(memory, base, type == kFixed ? 0 : base);
    auto reader = std::make_unique<stack::python::Reader>();
    if (exports.Find("_PyEval_EvalFrameDefault") != 0 &&
        reader->Attach(memory, stack::python::Reader::Symbols::Of(exports), MinorVersionOf(last)))
      return reader;
  }
  return nullptr;
}

std::string TextOf(const stack::ScriptFrames& frames, const stack::ScriptFunctions& functions) {
  std::string text;
  for (size_t i = 0; i < frames.count; ++i) {
    const stack::ScriptFunction function = functions.Find(frames.frames[i].function);
    if (i != 0) text += "|";
    text.append(function.name).append(" (").append(function.file).append("):");
    text += std::to_string(frames.frames[i].line);
  }
  return text;
}

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

void CompareStops(const std::string& python, const std::string& shapes, size_t stops, Result* result) {
  Process program({python, shapes, "stops", std::to_string(stops), "7"});
  OtherMemory memory(program.pid());
  stack::ScriptFunctions functions;
  stack::ScriptFrames frames;
  std::unique_ptr<stack::python::Reader> reader;
  double spent_us = 0;
  for (size_t i = 0; i < stops; ++i) {
    std::vector<std::string> lines;
    testing::WaitUntil([&] {
      lines = Split(program.Output(), '\n');
      return lines.size() > i && program.Output().ends_with('\n');
    });
    if (lines.size() <= i) break;
    if (reader == nullptr) reader = Attach(program.pid(), &memory);
    if (reader == nullptr) break;
    const std::vector<std::string> expected = Split(lines[i], '|');
    result->frames += expected.size();
    const auto begin = std::chrono::steady_clock::now();
    const bool is_read = reader->Read(program.pid(), &functions, &frames);
    spent_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    const std::vector<std::string> got =
        is_read ? Split(TextOf(frames, functions), '|') : std::vector<std::string>();
    if (got.size() == expected.size()) {
      for (size_t j = 0; j < got.size(); ++j) result->frames_right += got[j] == expected[j];
    }
    if (got != expected)
      std::fprintf(stderr, "%s: expected %s\n  got %s\n", python.c_str(), lines[i].c_str(),
                   TextOf(frames, functions).c_str());
    program.WriteInput("\n");
  }
  result->us_per_stack = spent_us / static_cast<double>(stops);
}

void ReadWhileItChurns(const std::string& python, const std::string& shapes, uint64_t captures,
                       Result* result) {
  Process program({python, shapes, "churn"});
  testing::WaitUntil([&] { return program.Output().ends_with('\n'); });
  OtherMemory memory(program.pid());
  auto reader = Attach(program.pid(), &memory);
  if (reader == nullptr) return;
  stack::ScriptFunctions functions;
  stack::ScriptFrames frames;
  for (result->captures = 0; result->captures < captures; ++result->captures)
    result->captures_with_frames += reader->Read(program.pid(), &functions, &frames);
  result->crashes += kill(program.pid(), 0) != 0;
}

// The frames of `got` that are as in `expected`, from the outermost on. It may have more inner ones, those of
// the call that waits, and lack some of V8's own functions.
size_t CountRight(const std::vector<std::string>& expected, const std::vector<std::string>& got) {
  size_t right = 0;
  for (size_t i = expected.size(), j = got.size(); i != 0 && j != 0; --i) {
    const bool is_right = expected[i - 1] == got[j - 1];
    right += is_right;
    if (is_right || !expected[i - 1].ends_with("(native):0")) --j;
  }
  return right;
}

// As CompareStops() and ReadWhileItChurns(), of a Node.
void MeasureNode(const std::string& node, const std::string& shapes, size_t stops, uint64_t captures,
                 Result* result) {
  stack::ScriptFunctions functions;
  stack::ScriptFrames frames;
  {
    Process program({node, shapes, "stops", std::to_string(stops), "7"});
    OtherMemory memory(program.pid());
    bench::NodeStacks stacks(program.pid(), &memory);
    double spent_us = 0;
    for (size_t i = 0; i < stops; ++i) {
      std::vector<std::string> lines;
      testing::WaitUntil([&] {
        lines = Split(program.Output(), '\n');
        return lines.size() > i && program.Output().ends_with('\n');
      });
      if (lines.size() <= i || !stacks.Attach() || !stacks.Copy()) break;
      const std::vector<std::string> expected = Split(lines[i], '|');
      result->frames += expected.size();
      const auto begin = std::chrono::steady_clock::now();
      stacks.Read(&functions, &frames);
      spent_us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
      const std::vector<std::string> got = Split(TextOf(frames, functions), '|');
      const size_t right = CountRight(expected, got);
      result->frames_right += right;
      if (right != expected.size())
        std::fprintf(stderr, "%s: expected %s\n  got %s\n", node.c_str(), lines[i].c_str(),
                     TextOf(frames, functions).c_str());
      program.WriteInput("\n");
    }
    result->us_per_stack = spent_us / static_cast<double>(stops);
  }
  Process program({node, shapes, "churn"});
  testing::WaitUntil([&] { return program.Output().ends_with('\n'); });
  OtherMemory memory(program.pid());
  bench::NodeStacks stacks(program.pid(), &memory);
  if (!stacks.Attach()) return;
  for (; result->captures < captures && stacks.Copy(); ++result->captures)
    result->captures_with_frames += stacks.Read(&functions, &frames);
  result->crashes += kill(program.pid(), 0) != 0;
}

int Main(const std::string& source, size_t stops, uint64_t captures) {
  nlohmann::json all = nlohmann::json::object();
  Result sum;
  double slowest_us = 0;
  const auto add = [&](const std::string& name, const Result& result) {
    const double right_pct = result.frames == 0 ? 0
                                                : 100.0 * static_cast<double>(result.frames_right) /
                                                      static_cast<double>(result.frames);
    all[name] = {{"frames", result.frames},
                 {"frames_right_pct", right_pct},
                 {"us_per_stack", result.us_per_stack},
                 {"captures", result.captures},
                 {"captures_with_frames", result.captures_with_frames}};
    sum.frames += result.frames;
    sum.frames_right += result.frames_right;
    sum.captures += result.captures;
    sum.crashes += result.crashes;
    slowest_us = std::max(slowest_us, result.us_per_stack);
  };
  for (const std::string& python : testing::Pythons()) {
    Result result;
    CompareStops(python, source + "/shapes.py", stops, &result);
    ReadWhileItChurns(python, source + "/shapes.py", captures, &result);
    Process version({python, "-c", "import platform; print(platform.python_version(), end='')"});
    version.Wait();
    add("cpython " + version.Output(), result);
  }
  for (const std::string& node : testing::Nodes()) {
    Process version({node, "-p", "process.versions.node"});
    if (version.Wait() != 0) continue;
    Result result;
    MeasureNode(node, source + "/shapes.js", stops, captures, &result);
    add("node " + Split(version.Output(), '\n').at(0), result);
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
  return lagwatch::Main(LAGWATCH_SHAPES, stops, captures);
}
