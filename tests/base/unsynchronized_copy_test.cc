// SPDX-License-Identifier: Apache-2.0
#include "base/unsynchronized_copy.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace lagwatch::base {
namespace {

TEST(UnsynchronizedCopy, CopiesEverySizeFromEveryPlace) {
  std::string source(64, ' ');
  std::iota(source.begin(), source.end(), '0');
  for (size_t begin = 0; begin < 16; ++begin) {
    for (size_t size = 0; size + begin <= source.size(); ++size) {
      std::string copy(source.size(), '.');
      CopyUnsynchronized(source.data() + begin, copy.data(), size);
      ASSERT_EQ(copy, source.substr(begin, size) + std::string(source.size() - size, '.'));
    }
  }
}

}  // namespace
}  // namespace lagwatch::base
