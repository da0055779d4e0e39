// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/envelope.h"

#include <gtest/gtest.h>

#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

using base::StatusCode;

TEST(EnvelopeTest, HasItemsWithALengthAndWithout) {
  const auto envelope = ParseEnvelope(
      "{\"event_id\":\"ab\",\"dsn\":\"http://k@h/1\",\"sent_at\":\"now\"}\n"
      "{\"type\":\"attachment\",\"length\":9,\"filename\":\"a\"}\nno\n{\"json\n"
      "{\"type\":\"event\"}\n{\"a\":1}\n\n");
  ASSERT_TRUE(envelope.ok()) << envelope.status().message();
  EXPECT_EQ(envelope->event_id, "ab");
  EXPECT_EQ(envelope->dsn, "http://k@h/1");
  ASSERT_EQ(envelope->items.size(), 2u);
  EXPECT_EQ(envelope->items[0].type, "attachment");
  EXPECT_EQ(envelope->items[0].payload, "no\n{\"json");
  EXPECT_EQ(envelope->items[1].payload, "{\"a\":1}");
}

TEST(EnvelopeTest, MayEndWithAPayload) {
  EXPECT_EQ(ParseEnvelope("{}\n{\"type\":\"event\",\"length\":2}\n{}")->items[0].payload, "{}");
  EXPECT_EQ(ParseEnvelope("{}\n{\"type\":\"event\"}\n{}")->items[0].payload, "{}");
  EXPECT_EQ(ParseEnvelope("{}\n{\"type\":\"attachment\",\"length\":0}\n\n")->items[0].payload, "");
  EXPECT_TRUE(ParseEnvelope("{}")->items.empty());
}

TEST(EnvelopeTest, RefusesWhatIsNone) {
  for (const char* body :
       {"", "\n", "[]\n", "{}\n[]\n{}\n", "{}\nno json\n{}\n", "{\"a\":", "\x1f\x8b",
        "{}\n{\"type\":\"event\",\"length\":4}\n{}\n", "{}\n{\"type\":\"event\",\"length\":1}\n{}\n",
        "{}\n{\"type\":\"event\",\"length\":-1}\n{}\n", "{}\n{\"type\":\"event\",\"length\":\"2\"}\n{}\n",
        "{}\n{\"type\":\"event\",\"length\":18446744073709551615}\n{}\n"}) {
    EXPECT_EQ(ParseEnvelope(body).status().code(), StatusCode::kInvalid) << body;
  }
}

TEST(EnvelopeTest, HasLimits) {
  std::string items = "{}\n";
  for (size_t i = 0; i < kMaxEnvelopeItems; ++i) items += "{\"type\":\"session\"}\n{}\n";
  EXPECT_EQ(ParseEnvelope(items)->items.size(), kMaxEnvelopeItems);
  EXPECT_EQ(ParseEnvelope(items + "{\"type\":\"session\"}\n{}").status().code(), StatusCode::kTooLarge);
  const std::string long_text(kMaxEnvelopeHeaderBytes, 'x');
  EXPECT_EQ(ParseEnvelope("{\"dsn\":\"" + long_text + "\"}\n").status().code(), StatusCode::kTooLarge);
}

TEST(BoundedJsonTest, CountsDepthAndValues) {
  EXPECT_TRUE(ParseBoundedJson("[[1]]", {.depth = 2}).ok());
  EXPECT_EQ(ParseBoundedJson("[[[1]]]", {.depth = 2}).status().code(), StatusCode::kTooLarge);
  EXPECT_EQ(ParseBoundedJson(std::string(500'000, '[')).status().code(), StatusCode::kTooLarge);
  EXPECT_TRUE(ParseBoundedJson("[{},1,2]", {.values = 4}).ok());
  EXPECT_EQ(ParseBoundedJson("[{},1,2,3]", {.values = 4}).status().code(), StatusCode::kTooLarge);
  EXPECT_EQ(ParseBoundedJson("[1", {.values = 4}).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(ParseBoundedJson("\"\xff\"").status().code(), StatusCode::kInvalid);
}

}  // namespace
}  // namespace lagwatch::collector
