// SPDX-License-Identifier: Apache-2.0
// A process that is only in a core file. tests/tools/why/core_test.cc has real ones.
#include "base/process/core_image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/process/proc_file.h"
#include "base/process/process.h"

namespace lagwatch::base {
namespace {

// One with the ids of this process, so that a question to the kernel would be answered.
class ImageOfSelf final : public CoreImage {
 public:
  static constexpr uint64_t kBegin = 0x1000;
  static constexpr char kMemory[] = "dumped";

  int32_t pid() const override { return getpid(); }
  const char* folder() const override { return "/proc/self/fd/1000"; }
  size_t Read(uint64_t address, void* destination, size_t size_bytes) const override {
    if (address < kBegin || address >= kBegin + sizeof kMemory) return 0;
    const size_t size = std::min<size_t>(size_bytes, kBegin + sizeof kMemory - address);
    std::memcpy(destination, kMemory + (address - kBegin), size);
    return size;
  }
  bool ReadRegisters(int32_t, void*, size_t) const override { return false; }
};

TEST(CoreImageTest, IsReadInsteadOfTheProcessWithItsId) {
  const ImageOfSelf image;
  const Process process = Process::Core(&image);
  EXPECT_TRUE(process.is_core());
  EXPECT_FALSE(process.is_own());
  EXPECT_NE(process, Process::Other(getpid()));
  EXPECT_EQ(process.pid(), getpid());
  EXPECT_EQ(process.core(), &image);
  char bytes[16] = {};
  EXPECT_EQ(process.Read(ImageOfSelf::kBegin + 2, bytes, sizeof bytes), 5u);
  EXPECT_STREQ(bytes, "mped");
  EXPECT_EQ(process.Read(reinterpret_cast<uint64_t>(&image), bytes, 1), 0u);
}

TEST(CoreImageTest, AsksTheKernelNothingByItsIds) {
  const ImageOfSelf image;
  const Process process = Process::Core(&image);
  EXPECT_EQ(process.proc_id(), 0);
  EXPECT_EQ(process.CpuNs(), -1);
  EXPECT_EQ((Thread{process, gettid()}.CpuNs()), -1);
  EXPECT_EQ(std::string(ProcessPath(process, "maps").c_str()), "/proc/self/fd/1000/maps");
  EXPECT_EQ(std::string(TaskPath({process, 4194304}, "voluntary").c_str()),
            "/proc/self/fd/1000/task/4194304/voluntary");
}

TEST(CoreImageTest, IsNoneOfAnotherProcess) {
  EXPECT_FALSE(Process::Own().is_core());
  EXPECT_FALSE(Process::Other(1).is_core());
  EXPECT_EQ(Process::Own().core(), nullptr);
  EXPECT_EQ(Process::Other(1).core(), nullptr);
}

}  // namespace
}  // namespace lagwatch::base
