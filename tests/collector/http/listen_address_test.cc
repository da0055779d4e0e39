// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collector/http/server/http_server.h"

namespace lagwatch::collector {
namespace {

TEST(ListenAddress, ReadsWhatItWrites) {
  for (const char* text : {"127.0.0.1:8790", "0.0.0.0:0", "[::1]:65535"}) {
    auto address = ListenAddress::Parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToText(), text);
  }
}

TEST(ListenAddress, RefusesTheRest) {
  for (const char* text : {"", ":1", "8790", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:80x", "::1:80", "[::1]", "[127.0.0.1]:1", "localhost:80"}) {
    EXPECT_FALSE(ListenAddress::Parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace lagwatch::collector
