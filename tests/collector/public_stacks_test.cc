// SPDX-License-Identifier: Apache-2.0
// Causes of hangs on Android and on Apple's systems that people made public (public_stacks.txt), by the rules
// that the collector has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "collector/cluster/clusterer.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

struct PublicStack {
  std::string source;
  std::string cause;
  report::Report report;
};

// A line "MODULE FUNCTION"; a number for a function without a name.
void AddFrame(std::string_view line, report::Report* report) {
  const size_t space = line.find(' ');
  const std::string module(line.substr(0, space));
  const std::string function(line.substr(space + 1));
  auto known = std::ranges::find(report->modules, module, &report::Module::path);
  if (known == report->modules.end()) known = report->modules.insert(known, {module, "", 0});
  const auto index = static_cast<uint32_t>(known - report->modules.begin());
  const bool is_named = !function.starts_with("0x");
  const uint64_t offset =
      is_named ? 0x1000'0000 * (report->symbols.size() + 1) : std::stoull(function, nullptr, 16);
  report->stacks[0].frames.push_back({index, offset, is_named ? offset : 0});
  if (is_named) report->symbols.push_back({index, offset, function});
}

std::vector<PublicStack> ReadStacks() {
  std::ifstream file(LAGWATCH_PUBLIC_STACKS);
  std::vector<PublicStack> stacks;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("source ")) {
      stacks.push_back({.source = line.substr(7), .cause = {}, .report = {}});
      stacks.back().report.stacks = {{}};
      stacks.back().report.samples = {{.stack = 0}};
    } else if (line.starts_with("cause ")) {
      stacks.back().cause = line.substr(6);
    } else {
      AddFrame(line, &stacks.back().report);
    }
  }
  return stacks;
}

TEST(PublicStacks, CausesNameTheFramesOfTheApp) {
  const auto clusterer = Clusterer::Create("", policies::ClusterBy::kSignificant);
  const std::vector<PublicStack> stacks = ReadStacks();
  EXPECT_GE(stacks.size(), 12u);
  for (const PublicStack& stack : stacks) {
    const ClusterPath path = clusterer->Assign(stack.report);
    ASSERT_FALSE(path[0].frames.empty()) << stack.source;
    EXPECT_EQ(path[0].frames[0], stack.cause) << stack.source;
  }
}

}  // namespace
}  // namespace lagwatch::collector
