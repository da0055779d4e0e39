// SPDX-License-Identifier: Apache-2.0
// Names of functions in files whose home directory is removed from their paths.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sdk/run/run_facts.h"
#include "sdk/upload_service.h"

extern "C" __attribute__((visibility("default"), noinline)) void NamedForTheNamer() { asm volatile(""); }

namespace lagwatch::sdk {
namespace {

namespace fs = std::filesystem;

TEST(LocalFrameNamer, FindsAFileInTheUsersHome) {
  const fs::path program = fs::read_symlink("/proc/self/exe");
  const std::string build_id = SystemRunFacts().build_id;
  const auto address = reinterpret_cast<uint64_t>(&NamedForTheNamer);
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&NamedForTheNamer), &info), 0);
  const uint64_t offset = address - reinterpret_cast<uint64_t>(info.dli_fbase);
  auto name_of = [&](const std::string& path, const std::string& wanted_build_id) {
    return CreateLocalFrameNamer("")->NameOf(path, wanted_build_id, offset).value_or("none");
  };
  ASSERT_EQ(name_of(program, build_id), "NamedForTheNamer");

  setenv("HOME", program.parent_path().parent_path().c_str(), 1);
  const std::string told =
      "~/" + program.parent_path().filename().string() + "/" + program.filename().string();
  EXPECT_EQ(name_of(told, build_id), "NamedForTheNamer");
  EXPECT_EQ(name_of(told, std::string(20, 'x')), "none");
  EXPECT_EQ(name_of("~/nothing/of/that/name", build_id), "none");
  unsetenv("HOME");
  EXPECT_EQ(name_of("~/nothing/of/that/name", build_id), "none");
}

}  // namespace
}  // namespace lagwatch::sdk
