// SPDX-License-Identifier: Apache-2.0
#include "trace/hooks/import_tables.h"

#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>

#include "tests/testing/temp_directory.h"
#include "tests/trace/hooks/hooks_testing.h"
#include "trace/hooks/hook_table.h"
#include "trace/hooks/loaded_module_linux.h"
#include "trace/hooks/page_access.h"

namespace lagwatch::trace {
namespace {

// The contents of a module's import table.
struct Imports {
  int hooked = 0;  // slots that hold a hook, which is code of this program
  int stubs = 0;   // the loader will be asked at the first call
  int elsewhere = 0;
  PageAccess::Access relro = PageAccess::kUnknown;
};

struct Look {
  std::string name;
  LoadedModule program;
  Imports imports;
  bool is_found = false;
};

int LookAtModule(dl_phdr_info* info, size_t, void* context) {
  auto* look = static_cast<Look*>(context);
  LoadedModule module;
  if (!module.Read(*info)) return 0;
  if (module.Holds(reinterpret_cast<uint64_t>(&g_capture))) look->program = module;
  if (std::string_view(info->dlpi_name).find(look->name) == std::string_view::npos) return 0;
  look->is_found = true;
  module.ForEachImport([&](const ImportSlot& slot) {
    const uint64_t value = *slot.address;
    if (look->program.HoldsCode(value)) {
      ++look->imports.hooked;
    } else if (slot.is_jump && module.HoldsCode(value)) {
      ++look->imports.stubs;
    } else {
      ++look->imports.elsewhere;
    }
  });
  look->imports.relro = PageAccess().Of(module.relro().begin);
  return 0;
}

// The module whose file's name has `name` in it.
Imports ImportsOf(const std::string& name) {
  Look look{name, {}, {}};
  dl_iterate_phdr(LookAtModule, &look);
  EXPECT_TRUE(look.is_found) << name;
  return look.imports;
}

class ImportTablesTest : public ::testing::Test {
 protected:
  // A library of its own, which is not loaded yet.
  std::string Copy(const char* subject, const std::string& name) {
    const std::string path = directory_.path() + "/" + name;
    std::filesystem::copy_file(subject, path);
    return path;
  }
  void* Load(const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    EXPECT_NE(nullptr, handle) << dlerror();
    return handle;
  }
  static const Subject& SubjectOf(void* handle) {
    return *reinterpret_cast<GetSubjectFunction>(dlsym(handle, "GetSubject"))();
  }

  lagwatch::testing::ScopedTempDirectory directory_;
};

TEST_F(ImportTablesTest, AreRewrittenAndRestoredWhetherBoundOrNot) {
  void* lazy = Load(Copy(LAGWATCH_LAZY_SUBJECT, "a_hook_subject.so"));
  void* bound = Load(Copy(LAGWATCH_BOUND_SUBJECT, "b_hook_subject.so"));
  const Imports lazy_before = ImportsOf("a_hook_subject.so");
  const Imports bound_before = ImportsOf("b_hook_subject.so");
  EXPECT_GT(lazy_before.stubs, 20);
  EXPECT_EQ(0, bound_before.stubs);
  EXPECT_EQ(PageAccess::kReadOnly, bound_before.relro);
  {
    SubjectRecorder recorder(0);
    for (const char* name : {"a_hook_subject.so", "b_hook_subject.so"}) {
      const Imports imports = ImportsOf(name);
      EXPECT_GE(imports.hooked, 35);
      EXPECT_EQ(PageAccess::kReadOnly, imports.relro);
    }
    SubjectOf(lazy).release(SubjectOf(bound).allocate(10));
    EXPECT_GE(recorder.Drain().size(), 1u);
  }
  EXPECT_EQ(0, ImportsOf("a_hook_subject.so").hooked);
  const Imports bound_after = ImportsOf("b_hook_subject.so");
  EXPECT_EQ(0, bound_after.hooked);
  EXPECT_EQ(bound_before.elsewhere, bound_after.elsewhere);
  EXPECT_EQ(PageAccess::kReadOnly, bound_after.relro);
  SubjectOf(lazy).release(SubjectOf(bound).allocate(10));
  dlclose(lazy);
  dlclose(bound);
}

TEST_F(ImportTablesTest, OfLibrariesThatComeLaterAreRewrittenToo) {
  SubjectRecorder recorder(0);
  void* by_program = Load(Copy(LAGWATCH_BOUND_SUBJECT, "c_hook_subject.so"));
  EXPECT_EQ(0, ImportsOf("c_hook_subject.so").hooked);
  recorder.Drain();
  EXPECT_GE(ImportsOf("c_hook_subject.so").hooked, 35);
  // A subject's call is seen, and its library looked for.
  void* by_subject = LazySubject().load(Copy(LAGWATCH_LAZY_SUBJECT, "d_hook_subject.so").c_str());
  ASSERT_NE(nullptr, by_subject);
  EXPECT_TRUE(HookRecorder::TakeNewModules());
  EXPECT_FALSE(HookRecorder::TakeNewModules());
  recorder.Drain();
  EXPECT_GE(ImportsOf("d_hook_subject.so").hooked, 35);
  // The interval is none, so it is captured however long it took.
  EXPECT_EQ(1u, recorder.Of(RunKind::kWaited, CallKind::kLoadLibrary).size() +
                    recorder.Of(RunKind::kCaptured, CallKind::kLoadLibrary).size());
  dlclose(by_program);
  dlclose(by_subject);
  recorder.Drain();  // nothing of them is touched any more
}

TEST_F(ImportTablesTest, ASearchedLibraryIsSearchedAsItsCallerHasIt) {
  SubjectRecorder recorder(0);
  void* handle = LazySubject().load("libm.so.6");
  EXPECT_NE(nullptr, handle);
  EXPECT_EQ(nullptr, LazySubject().load("libnowhere.so.1"));
  EXPECT_NE(nullptr, LazySubject().load(nullptr));
  if (handle != nullptr) dlclose(handle);
}

TEST_F(ImportTablesTest, OnlyChosenModulesAndFamiliesAreRewritten) {
  void* first = Load(Copy(LAGWATCH_LAZY_SUBJECT, "e_hook_subject.so"));
  void* second = Load(Copy(LAGWATCH_LAZY_SUBJECT, "f_hook_subject.so"));
  HookRecorder recorder;
  ASSERT_TRUE(
      recorder.Start({.families = kClockHooks, .modules = {.allow = {"[ef]_hook*"}, .deny = {"f_*"}}}).ok());
  EXPECT_EQ(2, ImportsOf("e_hook_subject.so").hooked) << "clock_gettime and time";
  EXPECT_EQ(0, ImportsOf("f_hook_subject.so").hooked);
  recorder.Stop();
  ASSERT_TRUE(recorder.Start({.families = kFileHooks, .modules = {.allow = {"f_hook*"}}}).ok());
  EXPECT_EQ(0, ImportsOf("e_hook_subject.so").hooked);
  EXPECT_EQ(3, ImportsOf("f_hook_subject.so").hooked) << "read, write and open";
  dlclose(first);
  dlclose(second);
}

TEST_F(ImportTablesTest, OfEverythingCanBeRewritten) {
  const ImportCounts before = ImportTables::Shared().counts();
  {
    HookRecorder recorder;
    ASSERT_TRUE(
        recorder.Start({.interval_ns = 0, .modules = {.own_module = ModuleFilter::OwnModule::kAlways}}).ok());
    for (int i = 0; i < 100; ++i) {
      std::string text(1000, 'x');  // operator new is libstdc++'s, which calls malloc by its table
      std::thread([] { std::vector<int> numbers(1000); }).join();
      timespec now;
      clock_gettime(CLOCK_MONOTONIC, &now);
      recorder.Drain([](int32_t, const CaptureRecord&, const uint64_t*) {});
    }
    EXPECT_GE(recorder.counters().threads.captures, 100u) << "each clock read is due";
    EXPECT_EQ(0u, recorder.counters().imports.modules_refused);
  }
  const ImportCounts after = ImportTables::Shared().counts();
  EXPECT_EQ(after.slots_patched - before.slots_patched, after.slots_restored - before.slots_restored);
}

TEST_F(ImportTablesTest, NewAllocatesByMalloc) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers have an operator new of their own";
#endif
  HookRecorder recorder;
  ASSERT_TRUE(recorder.Start({.interval_ns = kNeverNs, .modules = {.allow = {"libstdc++*"}}}).ok());
  const Subject& subject = LazySubject();
  const uint64_t before = t_slot.allocations;
  for (int i = 0; i < 100; ++i) subject.free_new(subject.allocate_new());
  EXPECT_EQ(100u, t_slot.allocations - before);
}

TEST(RealFunction, KnowsTheVersionsThatAreIt) {
  Hook hook{"pthread_cond_wait", nullptr, nullptr, kLockHooks, {}, 0};
  std::atomic<void*> real{FindRealFunction("pthread_cond_wait")};
  hook.real = &real;
  bool has_new = false;
  EXPECT_TRUE(IsRealVersion(&hook, "", &has_new));
  EXPECT_FALSE(IsRealVersion(&hook, "GLIBC_2.3.2", &has_new));
  EXPECT_TRUE(has_new);
  EXPECT_FALSE(IsRealVersion(&hook, "GLIBC_2.2.5", &has_new));
  has_new = false;
  EXPECT_FALSE(IsRealVersion(&hook, "GLIBC_2.3.2", &has_new));
  EXPECT_TRUE(has_new) << "nothing has looked it up yet";
  for (size_t i = 0; i < hook.version_count; ++i)
    hook.versions[i].state = FindVersion(hook, hook.versions[i].name);
  has_new = false;
  EXPECT_FALSE(IsRealVersion(&hook, "GLIBC_1.0", &has_new));
  EXPECT_TRUE(has_new);
  EXPECT_EQ(nullptr, FindRealFunction("no_such_function_at_all"));
}

}  // namespace
}  // namespace lagwatch::trace
