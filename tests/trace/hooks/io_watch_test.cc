// SPDX-License-Identifier: Apache-2.0
// Calls that use files, counted by dispatch: this program's own calls are hooked, and its loop is a pair of
// words.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "trace/hooks/hook_recorder.h"
#include "trace/hooks/import_tables.h"

namespace lagwatch::trace {
namespace {

using namespace std::string_literals;

constexpr uint64_t kNever = UINT64_MAX;
constexpr IoCopies kCopies{
    [](const stack::CallRegisters&, IoStack*) {},
    [](const char* tag, std::span<char> text) { std::snprintf(text.data(), text.size(), "tag:%p", tag); }};

uint64_t g_last_number = 0;

// A loop of this thread. As of a real loop's place no number is used again.
struct Loop {
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> ended{0};
  std::atomic<uint64_t> begin_ticks{0};
  std::atomic<const char*> tag{nullptr};

  void Watch() { SetDispatchWords({&begun, &ended, &begin_ticks, &tag}); }
  void Begin() { begun.store(++g_last_number); }
  void End() { ended.store(begun.load()); }
};

class IoWatchTest : public ::testing::Test {
 protected:
  static constexpr ModuleFilter::OwnModule kOwn = ModuleFilter::OwnModule::kAlways;

  void SetUp() override {
    ImportTables::Shared().Prepare(HookUser::kIoWatch, kIoWatchHooks, {.own_module = kOwn});
    ASSERT_TRUE(g_thread_io.Start(&kCopies, &modules_));
    ImportTables::Shared().Install(HookUser::kIoWatch, kIoWatchHooks, {.own_module = kOwn});
    g_thread_io.SetLimits(kNever, 1);  // every dispatch that names a path is found
    loop_.Watch();
  }
  void TearDown() override {
    SetDispatchWords({});
    g_thread_io.Stop();
    ImportTables::Shared().Remove(HookUser::kIoWatch);
  }
  const IoTotals& Of(IoOperation operation) const {
    return found_.content.totals[static_cast<size_t>(operation)];
  }

  base::Sleeper modules_;
  Loop loop_;
  ThreadIoTable::Found found_;
};

TEST_F(IoWatchTest, CountsADispatchsCallsOnly) {
  struct stat status;
  stat("/none", &status);
  loop_.Begin();
  for (int i = 0; i < 10; ++i) stat("/none", &status);
  EXPECT_FALSE(g_thread_io.TakeFound(&found_)) << "it goes on";
  loop_.End();
  stat("/none", &status);
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(Of(IoOperation::kLookUp).calls, 10u);
  EXPECT_EQ(found_.content.paths[9].data(), "/none"s);
  EXPECT_FALSE(g_thread_io.TakeFound(&found_));
  EXPECT_FALSE(g_thread_io.has_found());
}

TEST_F(IoWatchTest, ReadsNothingThroughATag) {
  struct stat status;
  loop_.tag = reinterpret_cast<const char*>(uint64_t{0x8080'0000'0000'1234});
  loop_.Begin();
  stat("/none", &status);
  loop_.End();
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(found_.content.tag, "tag:0x8080000000001234"s);
}

TEST_F(IoWatchTest, ACallMayOverwriteItsOwnPath) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  char* name = memory + page - 16;
  std::strcpy(name, "/proc/self/exe");
  char* volatile output = name;  // an alias that the compiler does not know
  loop_.Begin();
  ASSERT_GT(readlink(name, output, 16), 0);
  loop_.End();
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(Of(IoOperation::kLookUp).calls, 1u);
  EXPECT_EQ(found_.content.paths[0].data(), ""s) << "nothing of the result";
  munmap(memory, 2 * page);
}

TEST_F(IoWatchTest, PathsOfOtherFoldersAreMarked) {
  struct stat status;
  const int folder = open("/usr", O_RDONLY | O_DIRECTORY);
  loop_.Begin();
  fstatat(folder, "share", &status, 0);
  fstatat(AT_FDCWD, "share", &status, 0);
  fstatat(folder, "/usr", &status, 0);
  loop_.End();
  close(folder);
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(found_.content.paths[0].data(), "*/share"s);
  EXPECT_EQ(found_.content.paths[1].data(), "share"s);
  EXPECT_EQ(found_.content.paths[2].data(), "/usr"s);
  char folder_path[4096];
  EXPECT_EQ(found_.content.folder, std::string(getcwd(folder_path, sizeof folder_path)));
}

TEST_F(IoWatchTest, LoopsOfOneThreadAreCountedOneByOne) {
  struct stat status;
  Loop other;
  g_thread_io.SetLimits(kNever, 10);
  for (Loop* loop : {&loop_, &other}) {
    loop->Watch();
    loop->begun = 1'000'000;
    for (int i = 0; i < 6; ++i) stat("/none", &status);
    loop->End();
  }
  EXPECT_FALSE(g_thread_io.TakeFound(&found_));
}

ssize_t ReadCookie(void* cookie, char* bytes, size_t) {
  auto* loop = static_cast<Loop*>(cookie);
  if (loop != nullptr) loop->End();
  usleep(20'000);
  const int fd = open("/dev/zero", O_RDONLY);
  const ssize_t size = read(fd, bytes, 1);
  close(fd);
  return size;
}
FILE* OpenCookie(Loop* loop) {
  FILE* stream =
      fopencookie(loop, "r", {.read = ReadCookie, .write = nullptr, .seek = nullptr, .close = nullptr});
  setvbuf(stream, nullptr, _IONBF, 0);
  return stream;
}

TEST_F(IoWatchTest, CallsInsideAnotherOneCountOnce) {
  char byte;
  FILE* stream = OpenCookie(nullptr);
  loop_.Begin();
  const uint64_t begin_ticks = base::ReadTicks();
  ASSERT_EQ(fread(&byte, 1, 1, stream), 1u);
  const uint64_t ticks = base::ReadTicks() - begin_ticks;
  loop_.End();
  fclose(stream);
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(Of(IoOperation::kRead).calls, 2u);
  EXPECT_LE(found_.content.sum_ticks, ticks);
}

TEST_F(IoWatchTest, ACallInWhichItsDispatchEndsIsLeftOut) {
  char byte;
  struct stat status;
  FILE* stream = OpenCookie(&loop_);
  loop_.Begin();
  stat("/none", &status);
  ASSERT_EQ(fread(&byte, 1, 1, stream), 1u);
  fclose(stream);
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(Of(IoOperation::kRead).calls, 0u);
}

TEST_F(IoWatchTest, BuffersAreCountedWithTheirBytes) {
  char line[64];
  char name[] = "/tmp/lagwatch-lines-XXXXXX";
  close(mkstemp(name));
  loop_.Begin();
  FILE* stream = fopen(name, "w");
  for (int i = 0; i < 1000; ++i) fputs("line\n", stream);
  fclose(stream);
  stream = fopen(name, "r");
  int lines = 0;
  while (fgets(line, sizeof line, stream) != nullptr) ++lines;
  fclose(stream);
  loop_.End();
  unlink(name);
  EXPECT_EQ(lines, 1000);
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(Of(IoOperation::kWrite).calls, 1000u);
  EXPECT_EQ(Of(IoOperation::kWrite).bytes, 5000u);
  EXPECT_EQ(Of(IoOperation::kRead).calls, 1001u);
  EXPECT_EQ(Of(IoOperation::kRead).bytes, 5000u);
  EXPECT_GT(Of(IoOperation::kRead).ticks, 0u) << "the buffer was filled";
}

TEST_F(IoWatchTest, ALongCallNamesTheFileThatItsDescriptorIs) {
  char byte;
  const int fd = open("/dev/zero", O_RDONLY);
  g_thread_io.SetLimits(1, 0);  // every call is long
  loop_.Begin();
  ASSERT_EQ(read(fd, &byte, 1), 1);
  loop_.End();
  close(fd);
  ASSERT_TRUE(g_thread_io.TakeFound(&found_));
  EXPECT_EQ(found_.content.longest_call, "read"s);
  EXPECT_EQ(found_.content.longest_path, "/dev/zero"s);
}

}  // namespace
}  // namespace lagwatch::trace
