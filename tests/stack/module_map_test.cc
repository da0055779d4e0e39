// SPDX-License-Identifier: Apache-2.0
#include "stack/code/module_map.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "stack/frames/stack.h"
#include "tests/testing/emulation.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::stack {
namespace {

// The dynamic loader's list: path -> load bias.
std::map<std::string, uint64_t> LoadedByTheLoader() {
  std::map<std::string, uint64_t> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        std::string path = info->dlpi_name;
        if (path.empty()) path = std::filesystem::read_symlink("/proc/self/exe");
        if (path.front() == '/') path = std::filesystem::canonical(path);
        (*static_cast<std::map<std::string, uint64_t>*>(context))[path] = info->dlpi_addr;
        return 0;
      },
      &modules);
  return modules;
}

TEST(ModuleMap, AgreesWithTheDynamicLoader) {
  LAGWATCH_SKIP_UNDER_EMULATION("the loader does not know the prefix of its libraries' paths");
  ModuleMap map;
  map.Refresh();
  std::map<std::string, uint64_t> expected = LoadedByTheLoader();
  size_t found = 0;
  for (uint32_t i = 0; i < map.module_count(); ++i) {
    auto known = expected.find(std::string(map.module(i).path_view()));
    if (known == expected.end()) continue;
    EXPECT_EQ(map.module(i).load_bias, known->second) << known->first;
    ++found;
  }
  expected.erase("linux-vdso.so.1");
  EXPECT_EQ(found, expected.size());
  EXPECT_EQ(map.dropped_count(), 0u);
}

TEST(ModuleMap, FindsTheModuleOfACodeAddressAndNoneForData) {
  ModuleMap map;
  map.Refresh();
  uint32_t own = map.FindCode(reinterpret_cast<uint64_t>(&LoadedByTheLoader));
  ASSERT_NE(own, kNoModule);
  EXPECT_EQ(map.module(own).path_view(), std::filesystem::read_symlink("/proc/self/exe").string());
  uint32_t libc = map.FindCode(reinterpret_cast<uint64_t>(&dl_iterate_phdr));
  ASSERT_NE(libc, kNoModule);
  EXPECT_TRUE(map.module(libc).path_view().find("libc.so") != std::string_view::npos ||
              map.module(libc).path_view().find("san") != std::string_view::npos);
  int on_the_stack = 0;
  EXPECT_EQ(map.FindCode(reinterpret_cast<uint64_t>(&on_the_stack)), kNoModule);
  EXPECT_EQ(map.FindCode(0), kNoModule);
  EXPECT_EQ(map.FindCode(UINT64_MAX), kNoModule);
}

TEST(ModuleMap, KnowsTheMainThreadsStack) {
  ModuleMap map;
  map.Refresh();
  auto address = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  EXPECT_TRUE(map.stacks().IsOnMainStack(address));
  EXPECT_GT(map.stacks().LiveStack(address).end, getauxval(AT_EXECFN));  // the kernel puts it at the very top
}

TEST(ModuleMap, KnowsAnotherThreadsStackAsAWritableMapping) {
  std::thread thread([] {
    ModuleMap map;
    map.Refresh();
    auto address = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    EXPECT_FALSE(map.stacks().IsOnMainStack(address));
    const MemoryRegion* region = FindRegion(address, map.stacks().regions, map.stacks().count);
    ASSERT_NE(region, nullptr);
    EXPECT_TRUE(region->Holds(pthread_self()));  // where its control block is
  });
  thread.join();
}

TEST(ModuleMap, ReadsBuildIdsAndUnwindTables) {
  ModuleMap map;
  map.Refresh();
  const Module& libc = map.module(map.FindCode(reinterpret_cast<uint64_t>(&dlsym)));
  EXPECT_EQ(libc.build_id_view().size(), 20u);
  EXPECT_NE(libc.eh_frame_hdr, 0u);
}

std::string PathOfLibrary(const char* name) {
  void* handle = dlopen(name, RTLD_NOW);
  link_map* loaded = nullptr;
  EXPECT_TRUE(handle != nullptr && dlinfo(handle, RTLD_DI_LINKMAP, &loaded) == 0) << dlerror();
  std::string path = loaded->l_name;
  dlclose(handle);
  return path;
}

TEST(ModuleMap, KeepsAModulesIndexWhileOthersComeAndGo) {
  ModuleMap map;
  map.Refresh();
  uint32_t own = map.FindCode(reinterpret_cast<uint64_t>(&LoadedByTheLoader));
  EXPECT_FALSE(map.Refresh());

  testing::ScopedTempDirectory directory;
  std::string library = directory / "copy.so";
  std::filesystem::copy_file(PathOfLibrary("libBrokenLocale.so.1"), library);
  void* handle = dlopen(library.c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  EXPECT_TRUE(map.Refresh());
  uint32_t added = map.module_count() - 1;
  EXPECT_EQ(map.module(added).path_view(), library);

  // Still known by its index, and by its path although the file is gone.
  std::filesystem::remove(library);
  map.Refresh();
  EXPECT_EQ(map.module(added).path_view(), library);
  EXPECT_EQ(map.module_count(), added + 1);
  dlclose(handle);
  EXPECT_TRUE(map.Refresh());
  EXPECT_EQ(map.module(added).path_view(), library);
  EXPECT_EQ(map.FindCode(reinterpret_cast<uint64_t>(&LoadedByTheLoader)), own);
}

// As V8 maps its built-in functions once more, near the code that it makes.
TEST(ModuleMap, CodeThatIsMappedOnceMoreHasTheOffsetsOfItsFile) {
  const auto function = reinterpret_cast<uint64_t>(&LoadedByTheLoader);
  ModuleMap map;
  map.Refresh();
  const ModuleMap::CodeRange* original = map.FindRange(function);
  ASSERT_NE(original, nullptr);
  const uint64_t offset = function - original->load_bias;
  const Module& module = map.module(original->module);
  const CodeSegment* segment = std::ranges::find_if(
      module.code_segments, module.code_segments + module.code_segment_count, [&](const CodeSegment& item) {
        return offset >= item.address && offset - item.address < item.size_bytes;
      });
  ASSERT_NE(segment, module.code_segments + module.code_segment_count);
  const uint64_t in_file = offset - segment->address + segment->file_offset;
  const auto page_bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t in_page = in_file % page_bytes;

  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  // One below all that is loaded, one wherever the kernel likes.
  for (void* wanted : {reinterpret_cast<void*>(0x10'0000'0000), static_cast<void*>(nullptr)}) {
    void* copy = mmap(wanted, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
                      static_cast<off_t>(in_file - in_page));
    ASSERT_NE(copy, MAP_FAILED);
    const uint64_t again = reinterpret_cast<uint64_t>(copy) + in_page;
    map.Refresh();
    const ModuleMap::CodeRange* found = map.FindRange(again);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->module, map.FindCode(function));
    EXPECT_EQ(again - found->load_bias, offset);
    munmap(copy, page_bytes);
  }
  close(fd);
}

// A library as Android's loader maps it from an archive, whose bytes it is from `file_offset` on.
class LibraryInArchive {
 public:
  LibraryInArchive(int archive, off_t file_offset) {
    ElfW(Ehdr) elf;
    EXPECT_EQ(pread(archive, &elf, sizeof elf, file_offset), static_cast<ssize_t>(sizeof elf));
    std::vector<ElfW(Phdr)> segments(elf.e_phnum);
    const size_t size_bytes = segments.size() * sizeof segments[0];
    EXPECT_EQ(pread(archive, segments.data(), size_bytes, file_offset + static_cast<off_t>(elf.e_phoff)),
              static_cast<ssize_t>(size_bytes));
    std::erase_if(segments, [](const auto& segment) { return segment.p_type != PT_LOAD; });
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    size_bytes_ = segments.back().p_vaddr + segments.back().p_memsz;
    base_ = static_cast<char*>(mmap(nullptr, size_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (const auto& segment : segments) {
      const uint64_t in_page = segment.p_vaddr % page;
      const bool is_code = (segment.p_flags & PF_X) != 0;
      void* at = base_ + segment.p_vaddr - in_page;
      EXPECT_EQ(mmap(at, segment.p_filesz + in_page, is_code ? PROT_READ | PROT_EXEC : PROT_READ,
                     MAP_PRIVATE | MAP_FIXED, archive,
                     file_offset + static_cast<off_t>(segment.p_offset - in_page)),
                at);
      if (is_code) code_ = reinterpret_cast<uint64_t>(base_) + segment.p_vaddr;
    }
  }
  ~LibraryInArchive() { munmap(base_, size_bytes_); }
  LibraryInArchive(const LibraryInArchive&) = delete;
  LibraryInArchive& operator=(const LibraryInArchive&) = delete;

  uint64_t load_bias() const { return reinterpret_cast<uint64_t>(base_); }
  uint64_t code() const { return code_; }

 private:
  char* base_ = nullptr;
  size_t size_bytes_ = 0;
  uint64_t code_ = 0;
};

TEST(ModuleMap, LibrariesInAnArchiveAreModules) {
  LAGWATCH_SKIP_UNDER_EMULATION("the file of libc.so is found under another prefix");
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&getauxval), &libc), 0);
  std::ifstream file(libc.dli_fname, std::ios::binary);
  const std::string library((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr off_t kAlignment = 1 << 16;
  constexpr off_t kFirst = kAlignment;
  const off_t second = kFirst + (static_cast<off_t>(library.size()) / kAlignment + 1) * kAlignment;
  testing::ScopedTempDirectory directory;
  const std::string path = directory / "base.apk";
  const int archive = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(archive, 0);
  for (const off_t at : {kFirst, second})
    ASSERT_EQ(pwrite(archive, library.data(), library.size(), at), static_cast<ssize_t>(library.size()));
  const LibraryInArchive one(archive, kFirst);
  const LibraryInArchive other(archive, second);
  close(archive);

  ModuleMap map;
  map.Refresh();
  for (const LibraryInArchive* mapped : {&one, &other}) {
    const uint32_t index = map.FindCode(mapped->code());
    ASSERT_NE(index, kNoModule);
    EXPECT_EQ(map.module(index).path_view(), path);
    EXPECT_EQ(map.module(index).load_bias, mapped->load_bias());
    EXPECT_EQ(map.FindRange(mapped->code())->load_bias, mapped->load_bias());
    EXPECT_NE(map.module(index).build_id_size, 0);
  }
  EXPECT_NE(map.FindCode(one.code()), map.FindCode(other.code()));
}

TEST(ModuleMap, CodeMadeAtRunTimeBelongsToNoModule) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int fd = memfd_create("doublemapper", MFD_CLOEXEC);
  ASSERT_TRUE(fd >= 0 && ftruncate(fd, static_cast<off_t>(page_bytes)) == 0);
  void* in_file = mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
  void* anonymous = mmap(nullptr, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ModuleMap map;
  map.Refresh();
  for (void* page : {in_file, anonymous}) {
    EXPECT_TRUE(map.IsCode(reinterpret_cast<uint64_t>(page)));
    EXPECT_EQ(map.FindCode(reinterpret_cast<uint64_t>(page)), kNoModule);
    munmap(page, page_bytes);
  }
  close(fd);
}

}  // namespace
}  // namespace lagwatch::stack
