// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "tests/testing/temp_directory.h"
#include "tests/trace/export/decoded.h"
#include "tests/trace/export/sample_trace.h"
#include "trace/export/export.h"

namespace lagwatch::trace {
namespace {

using lagwatch::testing::Decoded;
using ::testing::Contains;

// The profile as a reader sees it that follows every number.
struct Profile {
  explicit Profile(const Trace& trace) {
    const lagwatch::testing::ScopedTempDirectory directory;
    const std::string bytes = PprofProfile(trace);
    std::ofstream(directory / "profile.gz", std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    decoded = lagwatch::testing::Decode(
        LAGWATCH_PPROF_SCHEMA, "perftools.profiles.Profile",
        lagwatch::testing::RunCommand("gzip -dc '" + (directory / "profile.gz") + "'"));
    for (const Decoded* text : decoded.All("string_table")) texts.push_back(text->text());
    Index("mapping", &mappings);
    Index("function", &functions);
    Index("location", &locations);
    for (const Decoded* sample : decoded.All("sample")) ReadSample(*sample);
  }

  std::string Text(uint64_t index) const { return texts.at(index); }

  Decoded decoded;
  std::vector<std::string> texts;
  std::map<uint64_t, const Decoded*> mappings, functions, locations;
  std::vector<std::string> samples;  // "thread: innermost<outermost count time_ms"
  uint64_t time_ns = 0;

 private:
  void Index(const char* field, std::map<uint64_t, const Decoded*>* by_id) {
    for (const Decoded* each : decoded.All(field)) {
      EXPECT_NE(each->Number("id"), 0u);
      EXPECT_TRUE(by_id->emplace(each->Number("id"), each).second) << field;
    }
  }

  void ReadSample(const Decoded& sample) {
    std::string told = Text(sample["label"].Number("str")) + ":";
    for (const Decoded* id : sample.All("location_id")) {
      const Decoded& location = *locations.at(std::stoull(id->value));
      told += " " + Text(functions.at(location["line"].Number("function_id"))->Number("name"));
      if (!location.Has("mapping_id")) continue;
      const Decoded& mapping = *mappings.at(location.Number("mapping_id"));
      EXPECT_GE(location.Number("address"), mapping.Number("memory_start"));
      EXPECT_LT(location.Number("address"), mapping.Number("memory_limit"));
    }
    const auto values = sample.All("value");
    EXPECT_EQ(values.size(), decoded.All("sample_type").size());
    time_ns += std::stoull(values[1]->value);
    samples.push_back(told + " " + values[0]->value + " " +
                      std::to_string(std::stoull(values[1]->value) / 1'000'000));
  }
};

TEST(Pprof, HasTheStacksWithTheirThreads) {
  const Profile profile(lagwatch::testing::MakeSampleTrace());
  EXPECT_THAT(
      profile.samples,
      Contains("main: pthread_mutex_lock Index::Lookup(std::string const&) Editor::OnKey(int) Loop::Run() "
               "main 2 41"));
  EXPECT_THAT(profile.samples, Contains("thread 102: Render() start_thread 6 65"));
  EXPECT_EQ(profile.time_ns, 346'000'000u);
}

TEST(Pprof, SaysWhatItsNumbersAre) {
  const Profile profile(lagwatch::testing::MakeSampleTrace());
  EXPECT_EQ(profile.Text(0), "");
  std::vector<std::string> types;
  for (const Decoded* type : profile.decoded.All("sample_type"))
    types.push_back(profile.Text(type->Number("type")) + "/" + profile.Text(type->Number("unit")));
  EXPECT_THAT(types, ::testing::ElementsAre("samples/count", "time/nanoseconds"));
  EXPECT_EQ(profile.decoded.Number("period"), 10'000'000u);
  EXPECT_EQ(profile.decoded.Number("time_nanos"), 1'700'000'001'000'000'000u);
  EXPECT_EQ(profile.decoded.Number("duration_nanos"), 200'000'000u);
  EXPECT_EQ(profile.Text(profile.decoded.Number("default_sample_type")), "time");
  const Decoded& mapping = *profile.mappings.at(1);
  EXPECT_EQ(profile.Text(mapping.Number("filename")), "/opt/editor");
  EXPECT_EQ(profile.Text(mapping.Number("build_id")), "01ab");
  EXPECT_EQ(profile.Text(profile.decoded.Number("comment")),
            "lost: samples overwritten 17, avoided by --buffer-mib 32");
}

TEST(Pprof, KeepsHostileNamesInItsTable) {
  const Profile profile(lagwatch::testing::MakeHostileTrace());
  EXPECT_THAT(profile.texts, Contains("\"quoted\""));
  EXPECT_THAT(profile.texts, Contains("two lines"));
  EXPECT_EQ(profile.functions.size(), lagwatch::testing::HostileNames().size() + 1);
}

TEST(Pprof, OfNothingIsAProfileAllTheSame) { EXPECT_TRUE(Profile(Trace()).samples.empty()); }

}  // namespace
}  // namespace lagwatch::trace
