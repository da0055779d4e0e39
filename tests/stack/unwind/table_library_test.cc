// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/table_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "tests/testing/temp_directory.h"

namespace lagwatch::stack {
namespace {

class TableLibraryTest : public ::testing::Test {
 protected:
  TableLibraryTest() { EXPECT_TRUE(library_.Start().ok()); }
  ~TableLibraryTest() override { EXPECT_TRUE(library_.TryStop()); }

  uint32_t FindModule(std::string_view part) {
    modules_.Refresh();
    for (uint32_t i = 0; i < modules_.module_count(); ++i) {
      if (modules_.module(i).path_view().find(part) != std::string_view::npos) return i;
    }
    return kNoModule;
  }

  ModuleMap modules_;
  TableLibrary library_;
};

TEST_F(TableLibraryTest, CompilesWhatWasRequested) {
  modules_.Refresh();
  EXPECT_EQ(library_.Find(0), nullptr);
  library_.Request(0, modules_.module(0));
  library_.AwaitForTest();
  ASSERT_NE(library_.Find(0), nullptr);
  EXPECT_GT(library_.Find(0)->function_count(), 100u);
}

TEST_F(TableLibraryTest, OneBuildHasOneTableWhereverItIsLoaded) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&strtod), &info), 0);
  std::string libc = info.dli_fname;
  if (libc.find("libc.so") == std::string::npos)
    GTEST_SKIP() << "the C library is wrapped or linked statically";
  testing::ScopedTempDirectory directory;
  std::filesystem::copy(std::filesystem::path(libc).parent_path() / "libm.so.6", directory / "twin_one.so");
  std::filesystem::copy(directory / "twin_one.so", directory / "twin_two.so");
  void* one = dlopen((directory / "twin_one.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  void* two = dlopen((directory / "twin_two.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(one != nullptr && two != nullptr);
  uint32_t first = FindModule("twin_one");
  uint32_t second = FindModule("twin_two");
  ASSERT_NE(first, kNoModule);
  ASSERT_NE(second, first);
  library_.Request(first, modules_.module(first));
  library_.Request(second, modules_.module(second));
  library_.AwaitForTest();
  EXPECT_NE(library_.Find(first), nullptr);
  EXPECT_EQ(library_.Find(first), library_.Find(second));
  dlclose(two);
  dlclose(one);
}

// A module may be unloaded between request and compilation; memory that is gone makes no table, and no harm.
TEST_F(TableLibraryTest, AModuleThatIsGoneHasNoTable) {
  modules_.Refresh();
  Module gone = modules_.module(0);
  gone.eh_frame_hdr = 4096;
  gone.build_id_size = 0;
  library_.Request(7, gone);
  library_.AwaitForTest();
  EXPECT_EQ(library_.Find(7), nullptr);
}

}  // namespace
}  // namespace lagwatch::stack
