// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/source_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/memory_collector.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;

constexpr char kUrl[] = "https://git.example.com/o/r/blob/{version}/{file}#L{line}";

TEST(SourceTemplate, HasTheVersionPutIn) {
  const auto source = SourceTemplate::Parse(kUrl, "/build/editor");
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(source->ToJson("2.4.0"), Json({{"url", "https://git.example.com/o/r/blob/2.4.0/{file}#L{line}"},
                                           {"root", "/build/editor/"}}));
  // A version comes from clients: it stays one part of the path, and has no marks of its own.
  EXPECT_EQ(source->ToJson("../{file}?<b>")["url"],
            "https://git.example.com/o/r/blob/..%2F%7Bfile%7D%3F%3Cb%3E/{file}#L{line}");
  EXPECT_EQ(SourceTemplate::Parse("http://[::1]:3000/{file}", "")->ToJson("1"),
            Json({{"url", "http://[::1]:3000/{file}"}, {"root", ""}}));
}

TEST(SourceTemplate, RefusesAllButAnAddressWithAFixedHost) {
  const auto refusal = [](const std::string& url, const std::string& root = "") {
    const auto source = SourceTemplate::Parse(url, root);
    return source.ok() ? "" : source.status().message();
  };
  for (const char* url :
       {"", "javascript:alert(1)//{file}", "JavaScript:alert(1)//{file}", "data:text/html,{file}",
        "//example.com/{file}", "ftp://example.com/{file}", " https://example.com/{file}"})
    EXPECT_THAT(refusal(url), HasSubstr("must begin with https:// or http://")) << url;
  for (const char* url : {"https://{version}/{file}", "https://{file}", "https:///{file}",
                          "https://a@b.example/{file}", "https://example.com"})
    EXPECT_THAT(refusal(url), HasSubstr("fixed host")) << url;
  for (const char* url :
       {"https://a.example/{file}\"", "https://a.example/{file} b", "https://a.example/<{file}>",
        "https://a.example/{file}\n", "https://a.example/{file}\xc3\xa4"})
    EXPECT_THAT(refusal(url), HasSubstr("may have no spaces")) << url;
  EXPECT_THAT(refusal("https://a.example/{file}/{commit}"), HasSubstr("no other braces"));
  EXPECT_THAT(refusal("https://a.example/{file}}"), HasSubstr("no other braces"));
  EXPECT_THAT(refusal("https://a.example/"), HasSubstr("needs {file}"));
  EXPECT_THAT(refusal("https://a.example/{file}", "src"), HasSubstr("absolute directory"));
  EXPECT_THAT(refusal("https://a.example/{file}" + std::string(1000, 'x')), HasSubstr("at most 1000 bytes"));
}

TEST(SourceTemplate, IsGivenByProgramOnTheCommandLine) {
  const auto sources = ParseSources({std::string("editor=") + kUrl, "player=https://a.example/?f={file}"},
                                    {"editor=/build/editor/"});
  ASSERT_TRUE(sources.ok()) << sources.status().message();
  EXPECT_EQ(sources->size(), 2u);
  EXPECT_EQ(sources->at("editor").ToJson("1")["root"], "/build/editor/");
  EXPECT_EQ(sources->at("player").ToJson("1")["url"], "https://a.example/?f={file}");
  const auto refusal = [](const std::vector<std::string>& urls, const std::vector<std::string>& roots) {
    const auto parsed = ParseSources(urls, roots);
    return parsed.ok() ? "" : parsed.status().message();
  };
  EXPECT_THAT(refusal({"editor"}, {}), HasSubstr("--source 'editor': give it as APP=URL"));
  EXPECT_THAT(refusal({"editor=ftp://a/{file}"}, {}), HasSubstr("must begin with https://"));
  EXPECT_THAT(refusal({"e=https://a/{file}", "e=https://b/{file}"}, {}), HasSubstr("has an address already"));
  EXPECT_THAT(refusal({}, {"editor=/build"}), HasSubstr("needs a --source, too"));
  EXPECT_THAT(refusal({}, {"editor="}), HasSubstr("give it once as APP=DIRECTORY"));
}

TEST(SourceTemplate, IsInReportsAndInTheSamplesOfOneProgram) {
  testing::MemoryCollector collector;
  const auto report_of = [](const char* app, const char* version) {
    testing::SampleReport report;
    report.header.id = report.header.hang_id = base::CreateUuidV7(1'700'000'100'000);
    report.header.app = app;
    report.header.app_version = version;
    return report;
  };
  const QueryApi api(collector.store.get(), Clusterer::Create("")->rules(), nullptr, nullptr,
                     [](std::string_view app) -> std::optional<SourceTemplate> {
                       if (app == "editor") return SourceTemplate::Parse(kUrl, "/src").value();
                       return std::nullopt;
                     });
  const auto get = [&](const std::string& path) { return Json::parse(api.Get(path, "").body)["source"]; };
  const auto editor = report_of("editor", "2.4 beta");
  collector.Submit({editor});
  const Json expected = {{"url", "https://git.example.com/o/r/blob/2.4%20beta/{file}#L{line}"},
                         {"root", "/src/"}};
  EXPECT_EQ(get("/v1/reports/" + base::ToString(editor.header.id)), expected);
  const std::string key = collector.Get("/v1/clusters")[0]["key"];
  EXPECT_EQ(get("/v1/clusters/" + key + "/samples"), expected);
  const auto player = report_of("player", "1");
  collector.Submit({player});
  EXPECT_EQ(get("/v1/reports/" + base::ToString(player.header.id)), Json());
  EXPECT_EQ(get("/v1/clusters/" + key + "/samples"), Json());
  EXPECT_EQ(collector.Get("/v1/reports/" + base::ToString(editor.header.id))["source"], Json());
}

}  // namespace
}  // namespace lagwatch::collector
