// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace lagwatch::base {
namespace {

TEST(Status, IsOkUnlessToldOtherwise) {
  Status fine;
  EXPECT_TRUE(fine.ok());
  EXPECT_EQ(fine.message(), "");
  Status wrong(StatusCode::kTooLarge, "send less than 1 MiB");
  EXPECT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.code(), StatusCode::kTooLarge);
  EXPECT_EQ(wrong.message(), "send less than 1 MiB");
}

TEST(Status, AnIoErrorEndsWithTheSystemsReason) {
  Status status = IoError("cannot open /x", EACCES);
  EXPECT_EQ(status.code(), StatusCode::kIo);
  EXPECT_EQ(status.message(), "cannot open /x: Permission denied");
}

TEST(Result, HoldsAValueOrWhyThereIsNone) {
  Result<int> some = 7;
  ASSERT_TRUE(some.ok());
  EXPECT_EQ(some.value(), 7);
  EXPECT_TRUE(some.status().ok());
  Result<int> none = Status(StatusCode::kNotFound, "no such report");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
}

TEST(Result, GivesAwayAValueThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

}  // namespace
}  // namespace lagwatch::base
