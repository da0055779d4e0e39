// SPDX-License-Identifier: Apache-2.0
// Code that comes and goes between captures, and whose file does.
#include <dlfcn.h>
#include <execinfo.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stack/code_map.h"
#include "stack/own_stack.h"
#include "stack/stack_capturer.h"
#include "tests/testing/process.h"
#include "tests/testing/stalls.h"
#include "tests/testing/temp_directory.h"
#include "tests/unwind/unwinder_under_test.h"

namespace lagwatch::unwind_test {
namespace {

using PluginCall = void (*)(void (*)(void*), void*);

class Plugin {
 public:
  explicit Plugin(const std::filesystem::path& path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Plugin() { dlclose(handle_); }

  PluginCall call() const { return reinterpret_cast<PluginCall>(dlsym(handle_, "PluginCall")); }

 private:
  void* handle_;
};

// Spins behind a plugin's functions; its callers by glibc's backtrace(), taken by the thread itself.
struct Spinner {
  const testing::StopFlag* stop;
  std::vector<void*> callers = std::vector<void*>(64);
  std::atomic<bool> is_spinning{false};

  [[gnu::noinline]] static void Run(void* self) {
    auto* spinner = static_cast<Spinner*>(self);
    int size = backtrace(spinner->callers.data(), static_cast<int>(spinner->callers.size()));
    spinner->callers.resize(static_cast<size_t>(size));
    spinner->is_spinning = true;
    testing::Spin(*spinner->stop);
    asm volatile("");
  }
};

class ModuleChangesTest : public ::testing::Test {
 protected:
  ModuleChangesTest() {
    auto capturer = stack::StackCapturer::Create({}, CreateUnwinderUnderTest());
    EXPECT_TRUE(capturer.ok()) << capturer.status().message();
    capturer_ = std::move(capturer).value();
  }

  std::filesystem::path CopyOf(const std::string& plugin, const std::string& name) {
    std::filesystem::path copy = directory_.path() + "/" + name;
    std::filesystem::remove(copy);
    std::filesystem::copy_file(plugin, copy);
    return copy;
  }

  // Captures a thread inside of the plugin, with `change` in between, and compares with the
  // thread's own account.
  template <typename Change>
  void ExpectRightCallers(const Plugin& plugin, Change change) {
    Spinner spinner{};
    testing::StalledThread thread([&](const testing::StopFlag& stop) {
      spinner.stop = &stop;
      plugin.call()(Spinner::Run, &spinner);
      asm volatile("");
    });
    while (!spinner.is_spinning) sched_yield();
    change();
    capturer_->RefreshModules();
    // A loaded machine may let the signal wait for too long.
    ASSERT_TRUE(testing::WaitUntil([&] {
      capturer_->Capture(thread.tid(), stack_.get());
      return stack_->completeness != stack::Completeness::kNone;
    }));
    EXPECT_EQ(stack_->completeness, stack::Completeness::kComplete);
    // The innermost are Spin, Run and what a sanitizer puts between Run and backtrace().
    std::vector<uint64_t> ours;
    for (const stack::Frame& frame : stack_->view().subspan(std::min<size_t>(2, stack_->frame_count))) {
      uint64_t bias =
          frame.module == stack::kNoModule ? 0 : capturer_->modules().module(frame.module).load_bias;
      ours.push_back(bias + frame.offset + 1);
    }
    ASSERT_GE(ours.size(), 4u);
    ASSERT_GE(spinner.callers.size(), ours.size());
    std::vector<uint64_t> theirs;
    for (size_t i = spinner.callers.size() - ours.size(); i < spinner.callers.size(); ++i)
      theirs.push_back(reinterpret_cast<uint64_t>(spinner.callers[i]));
    EXPECT_EQ(ours, theirs);
    // The plugin's own two functions are among them.
    const stack::Frame& in_plugin = stack_->frames[3];
    ASSERT_NE(in_plugin.module, stack::kNoModule);
    EXPECT_EQ(capturer_->modules().module(in_plugin.module).load_bias + in_plugin.function_offset,
              reinterpret_cast<uint64_t>(plugin.call()));
  }

  testing::ScopedTempDirectory directory_;
  std::unique_ptr<stack::StackCapturer> capturer_;
  std::unique_ptr<stack::Stack> stack_{new stack::Stack};
};

TEST_F(ModuleChangesTest, UnwindsThroughCodeThatWasJustLoaded) {
  capturer_->RefreshModules();
  Plugin plugin(SMALL_PLUGIN);
  ExpectRightCallers(plugin, [] {});
}

// The loader tends to put the next library where the last one was: rules of the last would be wrong.
TEST_F(ModuleChangesTest, ForgetsCodeThatWasUnloaded) {
  int reused_count = 0;
  for (int i = 0; i < 20; ++i) {
    void* first_place = nullptr;
    {
      Plugin small(SMALL_PLUGIN);
      first_place = reinterpret_cast<void*>(small.call());
      ExpectRightCallers(small, [] {});
    }
    Plugin large(LARGE_PLUGIN);
    ExpectRightCallers(large, [] {});
    Dl_info info;
    Dl_info first_info;
    reused_count += dladdr(first_place, &first_info) != 0 &&
                    dladdr(reinterpret_cast<void*>(large.call()), &info) != 0 &&
                    first_info.dli_fbase == info.dli_fbase;
  }
  EXPECT_GT(reused_count, 0) << "the test has not met what it is about";
}

TEST_F(ModuleChangesTest, NeedsNoFile) {
  std::filesystem::path path = CopyOf(SMALL_PLUGIN, "deleted.so");
  Plugin plugin(path);
  ExpectRightCallers(plugin, [&] { std::filesystem::remove(path); });
}

TEST_F(ModuleChangesTest, TrustsNoFileThatWasReplaced) {
  std::filesystem::path path = CopyOf(SMALL_PLUGIN, "replaced.so");
  Plugin plugin(path);
  ExpectRightCallers(plugin, [&] { CopyOf(LARGE_PLUGIN, "replaced.so"); });
}

TEST_F(ModuleChangesTest, TrustsNoFileThatWasReplacedBeforeTheFirstLook) {
  std::filesystem::path path = CopyOf(LARGE_PLUGIN, "replaced.so");
  capturer_->RefreshModules();
  Plugin plugin(path);
  CopyOf(SMALL_PLUGIN, "replaced.so");
  ExpectRightCallers(plugin, [] {});
}

// The thread walks its own stack behind a plugin's functions.
struct OwnLook {
  const stack::OwnStackWalker* walker;
  std::vector<uint64_t> ours = std::vector<uint64_t>(64);
  std::vector<void*> theirs = std::vector<void*>(64);
  bool is_complete = false;

  [[gnu::noinline]] static void Run(void* self) {
    auto* look = static_cast<OwnLook*>(self);
    look->ours.resize(64);
    look->theirs.resize(64);
    look->theirs.resize(static_cast<size_t>(backtrace(look->theirs.data(), 64)));
    look->ours.resize(look->walker->WalkCallers(look->ours.data(), 64, &look->is_complete));
    asm volatile("");
  }
  bool IsRight() const {
    if (!is_complete || theirs.size() < ours.size()) return false;
    return std::equal(ours.rbegin(), ours.rend(), theirs.rbegin(),
                      [](uint64_t our, void* their) { return our == reinterpret_cast<uint64_t>(their); });
  }
};

// Two plugins in the same place have other frames; a walk that took one's rules for the other's
// would go astray.
TEST_F(ModuleChangesTest, WalksOfTheOwnStackForgetCodeThatWasUnloaded) {
  auto code = stack::CodeMap::Create().value();
  auto walker = stack::OwnStackWalker::Create(code).value();
  OwnLook look{.walker = walker.get()};
  int reused_count = 0;
  void* last_place = nullptr;
  for (int i = 0; i < 20; ++i) {
    Plugin plugin(i % 2 == 0 ? SMALL_PLUGIN : LARGE_PLUGIN);
    code->Refresh();
    ASSERT_TRUE(testing::WaitUntil([&] {
      plugin.call()(OwnLook::Run, &look);
      return look.is_complete;
    }));
    EXPECT_TRUE(look.IsRight());
    EXPECT_GE(look.ours.size(), 4u);
    Dl_info info{};
    dladdr(reinterpret_cast<void*>(plugin.call()), &info);
    reused_count += std::exchange(last_place, info.dli_fbase) == info.dli_fbase;
  }
  EXPECT_GT(reused_count, 0) << "the test is about code in the same place";
}

TEST_F(ModuleChangesTest, WalksOfTheOwnStackSayThatTheyDoNotKnowNewCode) {
  auto code = stack::CodeMap::Create().value();
  auto walker = stack::OwnStackWalker::Create(code).value();
  OwnLook look{.walker = walker.get()};
  Plugin plugin(SMALL_PLUGIN);
  plugin.call()(OwnLook::Run, &look);
  EXPECT_FALSE(look.is_complete);
  EXPECT_TRUE(testing::WaitUntil([&] {
    code->RefreshIfDue();
    plugin.call()(OwnLook::Run, &look);
    return look.is_complete;
  }));
  EXPECT_TRUE(look.IsRight());
}

}  // namespace
}  // namespace lagwatch::unwind_test
