// SPDX-License-Identifier: Apache-2.0
// Tables compiled from .debug_frame, for modules that have no .eh_frame.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>

#include "stack/code/module_map.h"
#include "stack/elf/frame_section_file.h"
#include "stack/unwind/tables/unwind_table.h"
#include "tests/stack/elf_subject.h"

namespace lagwatch::stack {
namespace {

TEST(DebugFrameTable, TellsWhatTheModulesMemoryDoesNot) {
  void* library = dlopen(testing::kElfSubject.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto function = reinterpret_cast<uint64_t>(dlsym(library, "LwExportedFrame"));
  ModuleMap modules;
  modules.Refresh();
  const Module& module = modules.module(modules.FindCode(function));
  const uint64_t offset = function - module.load_bias;
  const std::atomic<bool> never_stop{false};

  UnwindTable of_memory;
  of_memory.Compile(module, {}, never_stop);
  FoundRule found;
  EXPECT_FALSE(of_memory.Find(offset, &found));

  auto section = LoadDebugFrame(std::string(module.path_view()), module.build_id_view());
  ASSERT_TRUE(section);
  UnwindTable of_both;
  ASSERT_TRUE(of_both.Compile(module, {{}, {section->bytes.data(), section->bytes.size(), section->address}},
                              never_stop));
  ASSERT_TRUE(of_both.Find(offset, &found));
  EXPECT_EQ(found.function_offset, offset);
  EXPECT_EQ(found.rule.cfa, UnwindRule::Cfa::kStackPointer);
  EXPECT_EQ(found.rule.return_address, UnwindRule::Saved::kAtCfa);
  dlclose(library);
}

}  // namespace
}  // namespace lagwatch::stack
