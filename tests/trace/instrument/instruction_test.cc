// SPDX-License-Identifier: Apache-2.0
// Lengths and relative operands of the instructions of a library, as the binutils see them.
#include "trace/instrument/probes/instruction.h"

#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "trace/instrument/patch_site.h"

namespace lagwatch::trace {
namespace {

struct Library {
  std::string path;
  uint64_t load_bias = 0;
};

Library FindLibrary(const char* name) {
  struct Search {
    const char* name;
    Library found;
  } search{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto* looked_for = static_cast<Search*>(context);
        if (std::strstr(info->dlpi_name, looked_for->name) == nullptr) return 0;
        looked_for->found = {info->dlpi_name, info->dlpi_addr};
        return 1;
      },
      &search);
  return search.found;
}

TEST(Instruction, IsAsLongAsTheDisassemblersAndRelativeWhereItIs) {
  if (!CanPatch()) GTEST_SKIP() << "this processor's code is not decoded";
  const Library library = FindLibrary("libm.so");
  ASSERT_FALSE(library.path.empty());
  FILE* listing = popen(("objdump -d -w --no-show-raw-insn -j .text '" + library.path + "'").c_str(), "r");
  ASSERT_NE(listing, nullptr);
  char line[1024];
  uint64_t last = 0;
  std::string last_text;
  uint64_t compared = 0;
  while (std::fgets(line, sizeof line, listing) != nullptr) {
    const char* colon = std::strchr(line, ':');
    const bool is_code = line[0] == ' ' && colon != nullptr;
    const uint64_t offset = is_code ? std::strtoull(line, nullptr, 16) : 0;
    if (last != 0 && offset != 0 && last_text.find("(bad)") == std::string::npos) {
      const uint64_t address = library.load_bias + last;
      const Instruction decoded = DecodeInstruction(CodeAt(address), 15, address);
      // A wait and a coprocessor's instruction are two, which the listing takes for one.
      constexpr unsigned char kWait = 0x9b;
      const bool is_as_long = decoded.size_bytes == offset - last || *CodeAt(address) == kWait;
      const bool is_relative = last_text.find("(%rip)") != std::string::npos;
      if (!is_as_long || (decoded.relative_operand_at != 0) != is_relative) ADD_FAILURE() << last_text;
      ++compared;
    }
    last = offset;
    last_text = is_code ? colon + 1 : "";
  }
  pclose(listing);
  EXPECT_GT(compared, 50'000U);
}

}  // namespace
}  // namespace lagwatch::trace
