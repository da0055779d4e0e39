// SPDX-License-Identifier: Apache-2.0
#include "base/uuid.h"

#include <gtest/gtest.h>

#include <set>

namespace lagwatch::base {
namespace {

constexpr int64_t kWallMs = 0x017F22E279B0;  // of the example in RFC 9562, appendix A.6

TEST(CreateUuidV7, SetsTimeVersionAndVariantWhateverTheRestIs) {
  for (int i = 0; i < 100; ++i) {
    Uuid uuid = CreateUuidV7(kWallMs);
    std::string text = ToString(uuid);
    EXPECT_EQ(text.substr(0, 15), "017f22e2-79b0-7");
    EXPECT_EQ(uuid.bytes[8] >> 6, 0b10) << text;
  }
}

TEST(CreateUuidV7, SortsByTimeAsBytesAndAsText) {
  std::string last_bytes;
  std::string last_text;
  // Across every byte boundary of the 48 bits of time.
  for (int64_t wall_ms = 1; wall_ms < int64_t{1} << 48; wall_ms *= 2) {
    for (int64_t time_ms : {wall_ms - 1, wall_ms}) {
      if (time_ms == 1 && wall_ms == 2) continue;  // the same time as in the step before
      Uuid uuid = CreateUuidV7(time_ms);
      EXPECT_LT(last_bytes, uuid.as_bytes());
      EXPECT_LT(last_text, ToString(uuid));
      last_bytes = uuid.as_bytes();
      last_text = ToString(uuid);
    }
  }
}

TEST(CreateUuidV7, IsNewEachTimeWithinAMillisecond) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(ToString(CreateUuidV7(kWallMs)));
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(TryParseUuid, ReadsWhatToStringWrote) {
  Uuid uuid = CreateUuidV7(kWallMs);
  EXPECT_EQ(TryParseUuid(ToString(uuid)), uuid);
}

TEST(TryParseUuid, AcceptsCapitalsAndWritesSmallLetters) {
  auto uuid = TryParseUuid("017F22E2-79B0-7CC3-98C4-DC0C0C07398F");
  ASSERT_TRUE(uuid);
  EXPECT_EQ(ToString(*uuid), "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(TryParseUuid, RefusesAnythingElse) {
  const std::string good = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
  EXPECT_FALSE(TryParseUuid(""));
  EXPECT_FALSE(TryParseUuid(good.substr(1)));
  EXPECT_FALSE(TryParseUuid(good + "0"));
  EXPECT_FALSE(TryParseUuid("{" + good + "}"));
  for (size_t position = 0; position < good.size(); ++position) {
    for (char wrong : {'g', '/', ':', '@', '`', '\0'}) {
      std::string bad = good;
      bad[position] = wrong;
      EXPECT_FALSE(TryParseUuid(bad)) << bad;
    }
    std::string misplaced = good;
    misplaced[position] = good[position] == '-' ? '0' : '-';
    EXPECT_FALSE(TryParseUuid(misplaced)) << misplaced;
  }
}

TEST(TryUuidFromBytes, TakesSixteenBytesAndNoOtherNumber) {
  Uuid uuid = CreateUuidV7(kWallMs);
  std::string bytes(uuid.as_bytes());
  EXPECT_EQ(TryUuidFromBytes(bytes), uuid);
  EXPECT_FALSE(TryUuidFromBytes(""));
  EXPECT_FALSE(TryUuidFromBytes(bytes.substr(1)));
  EXPECT_FALSE(TryUuidFromBytes(bytes + "x"));
}

}  // namespace
}  // namespace lagwatch::base
