// SPDX-License-Identifier: Apache-2.0
#include "report/upload/transport/gzip.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/report/report_testing.h"

namespace lagwatch::report {
namespace {

// The gzip program is the oracle.
std::string Gunzipped(const std::string& compressed) {
  lagwatch::testing::ScopedTempDirectory directory;
  std::string file = directory / "body.gz";
  lagwatch::testing::WriteFile(file, compressed);
  return lagwatch::testing::OutputOf("gzip -dc '" + file + "'");
}

TEST(Gzip, TheGzipProgramReadsIt) {
  std::string repetitive(100'000, 'r');
  std::string random_bytes(300'000, '\0');
  std::mt19937 random(1);
  for (char& byte : random_bytes) byte = static_cast<char>(random());
  for (const std::string& bytes : {std::string(), std::string("x"), repetitive, random_bytes}) {
    EXPECT_EQ(Gunzipped(Gzip(bytes)), bytes);
  }
  EXPECT_LT(Gzip(repetitive).size(), 1000u);
}

TEST(Gzip, EqualInputGivesEqualOutput) { EXPECT_EQ(Gzip("the same"), Gzip("the same")); }

}  // namespace
}  // namespace lagwatch::report
