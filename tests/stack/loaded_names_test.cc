// SPDX-License-Identifier: Apache-2.0
#include "stack/code/loaded_names.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/testing/emulation.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::stack {
namespace {

// A library that was loaded, and whose file was then deleted.
class LoadedNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LAGWATCH_SKIP_UNDER_EMULATION("its map does not say which files were deleted");
    std::filesystem::copy(LAGWATCH_LOADED_PLUGIN, path_);
    library_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    exported_ = reinterpret_cast<uint64_t>(dlsym(library_, "PluginExported"));
    hidden_ = *static_cast<uint64_t*>(dlsym(library_, "plugin_hidden"));
    modules_.Refresh();
    module_ = modules_.FindCode(exported_);
    ASSERT_NE(module_, kNoModule);
  }
  void TearDown() override {
    if (library_ != nullptr) dlclose(library_);
  }

  void DeleteFile() {
    std::filesystem::remove(path_);
    modules_.Refresh();
  }
  uint64_t OffsetOf(uint64_t address) const { return address - modules_.module(module_).load_bias; }
  std::vector<std::string> NamesOf(const std::vector<uint64_t>& offsets, bool may_open_file) {
    std::vector<std::string> found;
    for (const LoadedNames::Place& place :
         names_.Find(modules_.module(module_), modules_.DeletedFile(module_), offsets, &may_open_file))
      found.emplace_back(place.name_view());
    return found;
  }

  testing::ScopedTempDirectory directory_;
  std::string path_ = directory_ / "plugin_gone.so";
  void* library_ = nullptr;
  uint64_t exported_ = 0;
  uint64_t hidden_ = 0;
  ModuleMap modules_;
  uint32_t module_ = kNoModule;
  LoadedNames names_;
};

TEST_F(LoadedNamesTest, AFileIsDeletedFromTheNextLookOn) {
  EXPECT_EQ(modules_.DeletedFile(module_).end, 0u);
  DeleteFile();
  EXPECT_EQ(modules_.FindCode(exported_), module_);
  EXPECT_TRUE(modules_.DeletedFile(module_).Holds(exported_));
  EXPECT_TRUE(LoadedNames::IsElsewhere(modules_.module(module_)));
}

TEST_F(LoadedNamesTest, MemoryNamesWhatIsExported) {
  DeleteFile();
  // Within the function, too, and nothing before it.
  EXPECT_EQ(NamesOf({OffsetOf(exported_), OffsetOf(exported_) + 1}, false),
            (std::vector<std::string>{"PluginExported", "PluginExported"}));
  EXPECT_EQ(NamesOf({OffsetOf(hidden_)}, false), (std::vector<std::string>{""}));
}

TEST_F(LoadedNamesTest, TheFileNamesTheRestWhereThatIsPermitted) {
  DeleteFile();
  const MemoryRegion mapping = modules_.DeletedFile(module_);
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", mapping.begin, mapping.end);
  if (access(path, R_OK) != 0) GTEST_SKIP() << "map_files needs CAP_CHECKPOINT_RESTORE";
  std::vector<std::string> names = NamesOf({OffsetOf(exported_), OffsetOf(hidden_)}, true);
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"PluginExported", "PluginHidden"}));
}

TEST_F(LoadedNamesTest, AFileWhosePathLeadsElsewhereIsFoundByItsProcess) {
  // Of another process the path is that process's.
  Module module = modules_.module(module_);
  module.process = base::Process::Other(getpid());
  const uint64_t offset = OffsetOf(hidden_);
  bool may_open_file = true;
  const auto places = names_.Find(module, {}, {&offset, 1}, &may_open_file);
  ASSERT_EQ(places.size(), 1u);
  EXPECT_EQ(places[0].name_view(), "PluginHidden");
  EXPECT_FALSE(may_open_file);
}

TEST_F(LoadedNamesTest, AnotherBuildGivesNoName) {
  Module module = modules_.module(module_);
  ASSERT_NE(module.build_id_size, 0);
  module.build_id[0] ^= 1;
  const uint64_t offset = OffsetOf(exported_);
  bool may_open_file = true;
  for (const auto& place : names_.Find(module, {}, {&offset, 1}, &may_open_file))
    EXPECT_EQ(place.name_size, 0);
}

TEST_F(LoadedNamesTest, OtherModulesAreNamedAsTheirLoaderNamesThem) {
  Dl_info info;
  const auto address = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "getenv"));
  ASSERT_NE(dladdr(reinterpret_cast<void*>(address), &info), 0);
  module_ = modules_.FindCode(address);
  ASSERT_NE(module_, kNoModule);
  EXPECT_EQ(NamesOf({OffsetOf(address)}, false), (std::vector<std::string>{info.dli_sname}));
}

}  // namespace
}  // namespace lagwatch::stack
