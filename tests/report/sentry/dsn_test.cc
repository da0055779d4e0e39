// SPDX-License-Identifier: Apache-2.0
#include "report/sentry/dsn.h"

#include <gtest/gtest.h>

namespace lagwatch::report {
namespace {

TEST(SentryDsnTest, HasAHostAKeyAndAProject) {
  const auto dsn = ParseSentryDsn("https://abc123@o1.ingest.sentry.io/42");
  ASSERT_TRUE(dsn.ok());
  EXPECT_EQ(dsn->endpoint, "https://o1.ingest.sentry.io");
  EXPECT_EQ(dsn->key, "abc123");
  EXPECT_EQ(dsn->project, "42");
}

TEST(SentryDsnTest, MayHaveAPortASecretAndAPath) {
  const auto dsn = ParseSentryDsn("http://abc:secret@localhost:9000/behind/proxy/42");
  ASSERT_TRUE(dsn.ok());
  EXPECT_EQ(dsn->endpoint, "http://localhost:9000/behind/proxy");
  EXPECT_EQ(dsn->key, "abc");
}

TEST(SentryDsnTest, IsRefusedWhenAPartIsMissing) {
  for (const char* text : {"", "https://", "https://host/42", "https://@host/42", "https://abc@host",
                           "https://abc@host/", "https://abc@/42", "https://host/abc@42", "abc@host/42",
                           "https://abc@host/4 2", "https://abc@host/42?a"}) {
    EXPECT_EQ(ParseSentryDsn(text).status().code(), base::StatusCode::kInvalid) << text;
  }
}

}  // namespace
}  // namespace lagwatch::report
