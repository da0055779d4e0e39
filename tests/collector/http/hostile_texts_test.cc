// SPDX-License-Identifier: Apache-2.0
// Whatever a client's texts hold, they are texts: for the database, in JSON and in filters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using testing::MemoryCollector;
using testing::SampleReport;
using ::testing::SizeIs;

constexpr const char* kTexts[] = {"'; DROP TABLE reports; --",
                                  "' OR '1'='1",
                                  "\\' UNION SELECT 1 -- \\",
                                  "\"; DELETE FROM clusters; /*",
                                  "<script>alert(1)</script>",
                                  "<img src=x onerror=\"alert(1)\">",
                                  "{{7*7}} ${jndi:ldap://a} %s%n %00",
                                  "=HYPERLINK(\"http://a\";\"b\")",
                                  "a,b\r\nc\td",
                                  "../../etc/passwd"};

SampleReport ReportFullOf(const char* text) {
  SampleReport report;
  report.module_path = std::string("/usr/bin/") + text;
  report.stack = {text, "Caller"};
  report.threads = {{text, {"Wait"}}};
  report.facts = {{.name = text, .text = text}};
  report.header.app = report.header.app_version = report.header.user = report.header.os = text;
  report.header.machine = report.header.loop = report.header.tag = text;
  return report;
}

std::string PercentEncoded(const std::string& text) {
  std::string encoded;
  for (const char byte : text) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(byte));
    encoded += code;
  }
  return encoded;
}

TEST(HostileTexts, AreTextsWhereverTheyStand) {
  MemoryCollector collector;
  std::vector<SampleReport> reports;
  for (const char* text : kTexts) reports.push_back(ReportFullOf(text));
  ASSERT_EQ(collector.Submit(reports).accepted, static_cast<int64_t>(reports.size()));

  for (const char* text : kTexts) {
    for (const std::string field : {"app", "version", "loop", "os", "user"}) {
      const Json found = collector.Get("/v1/reports", field + "=" + PercentEncoded(text));
      ASSERT_THAT(found, SizeIs(1)) << field << " " << text;
      for (const char* name : {"app", "version", "user", "os", "machine", "loop", "tag"})
        EXPECT_EQ(found[0][name], text) << name;
    }
    const Json causes = collector.Get("/v1/clusters", "app=" + PercentEncoded(text));
    ASSERT_THAT(causes, SizeIs(1)) << text;
    EXPECT_THAT(causes[0]["apps"], ::testing::ElementsAre(text));
    EXPECT_EQ(collector.query_api.Get("/v1/reports/" + PercentEncoded(text), "").status, 400);
  }
  EXPECT_THAT(collector.Get("/v1/reports"), SizeIs(reports.size())) << "nothing else happened";
}

TEST(HostileTexts, AreTextsInAReport) {
  MemoryCollector collector;
  for (const char* text : kTexts) {
    const SampleReport report = ReportFullOf(text);
    ASSERT_EQ(collector.Submit({report}).accepted, 1);
    const auto answer = collector.query_api.Get("/v1/reports/" + base::ToString(report.header.id), "");
    EXPECT_EQ(answer.content_type, "application/json");
    const Json json = Json::parse(answer.body);
    EXPECT_EQ(json["tag"], text);
    EXPECT_EQ(json["threads"][1]["name"], text);
    EXPECT_EQ(json["facts"][text], text);
    EXPECT_EQ(json["threads"][1]["stack"][0]["module"], std::string("/usr/bin/") + text);
  }
}

}  // namespace
}  // namespace lagwatch::collector
