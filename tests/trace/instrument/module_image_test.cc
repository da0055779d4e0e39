// SPDX-License-Identifier: Apache-2.0
// Answers of the mechanisms about a file that is only looked at equal those about the same file once it is
// loaded.
#include "trace/instrument/listing/module_image.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <map>
#include <string>

#include "trace/instrument/patchable_module.h"
#include "trace/instrument/probes/function_prober.h"

namespace lagwatch::trace {
namespace {

constexpr char kSubject[] = LAGWATCH_FLOW_SUBJECT;

std::map<uint64_t, NopShape> SitesOf(const dl_phdr_info& info) {
  PatchableModule module = DescribeModule(info);
  FindSites(info, &module);
  std::map<uint64_t, NopShape> sites;
  for (const PatchSite& site : module.sites) sites[site.function - module.load_bias] = site.shape;
  return sites;
}

std::map<uint64_t, ProbeReason> ReasonsOf(const std::vector<ProbedFunction>& functions, uint64_t load_bias) {
  std::map<uint64_t, ProbeReason> reasons;
  for (const ProbedFunction& each : functions) {
    // The place in memory decides that.
    if (each.result.reason != ProbeReason::kOutOfReach)
      reasons[each.function - load_bias] = each.result.reason;
  }
  return reasons;
}

TEST(ModuleImage, IsAsTheLoadersForTheMechanisms) {
  if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be changed";
  void* library = dlopen(kSubject, RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  std::map<uint64_t, NopShape> loaded;
  const auto visit = [](dl_phdr_info* info, size_t, void* sites) {
    if (std::strcmp(info->dlpi_name, kSubject) == 0)
      *static_cast<std::map<uint64_t, NopShape>*>(sites) = SitesOf(*info);
    return 0;
  };
  dl_iterate_phdr(visit, &loaded);
  link_map* map = nullptr;
  ASSERT_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  FunctionProber prober;
  const auto listed = prober.List({.allow_modules = {"libflow_subject.so"}}, /*wants_return=*/true);
  const auto reasons = ReasonsOf(listed, map->l_addr);

  const auto image = ModuleImage::Map(kSubject);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_GT(loaded.size(), 5U);
  EXPECT_EQ(SitesOf(image->info()), loaded);
  EXPECT_GT(reasons.size(), 5U);
  EXPECT_EQ(ReasonsOf(FunctionProber::ListModule(image->info(), true), image->load_bias()), reasons);
  dlclose(library);
}

TEST(ModuleImage, FindsDirectCallees) {
  if (!CanPatch()) GTEST_SKIP() << "this processor's code cannot be changed";
  const auto image = ModuleImage::Map(kSubject);
  ASSERT_TRUE(image.ok()) << image.status().message();
  size_t calls = 0;
  for (const ProbedFunction& each : FunctionProber::ListModule(image->info(), false))
    calls += FunctionProber::DirectCallees(image->info(), each.function).size();
  EXPECT_GT(calls, 0U);
}

}  // namespace
}  // namespace lagwatch::trace
