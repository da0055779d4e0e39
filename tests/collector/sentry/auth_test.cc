// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/auth.h"

#include <gtest/gtest.h>

namespace lagwatch::collector {
namespace {

TEST(SentryAuthTest, TheHeaderHasTheKeyAnywhere) {
  EXPECT_EQ(KeyOfSentryAuth("Sentry sentry_key=k_1, sentry_version=7"), "k_1");
  EXPECT_EQ(KeyOfSentryAuth("Sentry sentry_version=7,sentry_client=a/1,sentry_key=k_1,sentry_secret=s"),
            "k_1");
  for (const char* header :
       {"", "Sentry", "Bearer k_1", "Sentry xsentry_key=k_1", "sentry_key", "Sentry sentry_key="})
    EXPECT_EQ(KeyOfSentryAuth(header), "") << header;
}

TEST(SentryAuthTest, TheQueryHasIt) {
  EXPECT_EQ(KeyOfSentryQuery("sentry_version=7&sentry_key=k_1&sentry_client=a"), "k_1");
  EXPECT_EQ(KeyOfSentryQuery("key=k_1"), "");
}

TEST(SentryAuthTest, ADsnHasItBeforeTheHost) {
  EXPECT_EQ(KeyOfDsn("https://k_1@lag.example.com:8443/1"), "k_1");
  EXPECT_EQ(KeyOfDsn("http://k_1:secret@host/prefix/1"), "k_1");
  for (const char* dsn : {"", "k_1@host/1", "http://host/1", "http://host/k_1@1", "http://k_1@host"})
    EXPECT_EQ(KeyOfDsn(dsn), "") << dsn;
}

}  // namespace
}  // namespace lagwatch::collector
