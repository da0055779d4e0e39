// SPDX-License-Identifier: Apache-2.0
// The places and values of probes, on a program that knows what there is to see.
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/testing/temp_directory.h"
#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::ElementsAre;

TEST_F(ProbeTest, ShowsArgumentsAndResultsByDebugInformationAndLeavesTheCodeAsItWas) {
  const std::string before = Code();
  EXPECT_THAT(Records(Probe("add_numbers @return { print(a, b, returned) }", "add 3")),
              ElementsAre("0 2 2", "1 2 3", "2 2 4"));
  EXPECT_THAT(errors_, HasSubstr("3 hits"));
  EXPECT_EQ(Code(), before);
}

TEST_F(ProbeTest, ReadsMembersAlongAPathAndTexts) {
  const auto records = Records(
      Probe("handle_request { print(request->number, request->uri->length, request->uri->text, tag) }",
            "request 2"));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_THAT(records[0], ::testing::AllOf(HasSubstr("7 5"), HasSubstr("/home"), HasSubstr("even")));
  EXPECT_THAT(records[1], HasSubstr("odd"));
}

TEST_F(ProbeTest, ReadsFloatingPointArguments) {
  EXPECT_THAT(Records(Probe("scale_number if number > 0.5 { print(number, factor) }", "scale 3")),
              ElementsAre("1 0.5", "2 0.5"));
}

TEST_F(ProbeTest, FiltersByDuration) {
  // Every second call sleeps for 5 ms, which never takes less; the others may take longer on a busy machine.
  const auto records =
      Records(Probe("sleep_ms @return if duration < 5ms { print(ms) } sleep_ms @return if duration >= 5ms { "
                    "print(ms, ms) }",
                    "sleep 4"));
  EXPECT_EQ(records.size(), 4U);
  EXPECT_EQ(std::ranges::count(records, "5"), 0);
  EXPECT_EQ(std::ranges::count(records, "5 5"), 2);
}

TEST_F(ProbeTest, CountsByCallerWithStacks) {
  const std::string folded = Probe("add_numbers { count by stack }", "outer 4", {"--folded"});
  EXPECT_THAT(folded, HasSubstr("main;"));
  EXPECT_THAT(folded, HasSubstr(";outer_caller 4\n"));
}

TEST_F(ProbeTest, SeesExceptionsByTypeAndTheFunctionsThatTheyLeave) {
  const std::string output = Probe("throw { count by type } shop::Refuse @error { count }", "throw 4");
  EXPECT_THAT(output, ::testing::ContainsRegex("2 +std::out_of_range"));
  EXPECT_THAT(errors_, HasSubstr("4 hits"));
}

TEST_F(ProbeTest, SeesAllocationsAndLocks) {
  EXPECT_THAT(Records(Probe("alloc if bytes == 1234 { print(bytes) }", "alloc 3")),
              ElementsAre("1234", "1234", "1234"));
  EXPECT_EQ(Records(Probe("lock if held > 1ms && held < 10s { print(tid) }", "lock 2")).size(), 2U);
}

// Functions of the allocator that call one another are one allocation.
constexpr const char* kAllocations = "alloc if bytes > 50000 && bytes < 50100 { print(bytes) }";

TEST_F(ProbeTest, SeesEachAllocationOnce) {
  EXPECT_THAT(Records(Probe(kAllocations, "allocators 1")),
              ElementsAre("50001", "50005", "50002", "50048", "50016", "50003", "50004", "50006"));
}

TEST_F(ProbeTest, SeesAnAllocatorThatTakesTheCLibrarysPlace) {
  program_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_PROBED_PROGRAM},
                                       std::vector<std::string>{"LD_PRELOAD=" LAGWATCH_OTHER_ALLOCATOR});
  ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; }));
  EXPECT_THAT(Records(Probe(kAllocations, "allocators 1")),
              ElementsAre("50001", "50005", "50002", "50048", "50016", "50003", "50004", "50006"));
}

TEST_F(ProbeTest, SeesImportedCallsAndChangesNoCode) {
  const std::string before = Code();
  const auto console = Start({pid(), "call usleep(unsigned us) { print(us) }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  EXPECT_EQ(Code(), before);
  Do("sleep 4");
  console->Signal(SIGINT);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(Records(console->Output()), ElementsAre("0", "5000", "0", "5000"));
  Do("sleep 2");  // by its own tables again
  // Two scripts have one name, and each its own hits.
  EXPECT_EQ(
      Records(Probe("call usleep { print(1) } call usleep(unsigned us) if us == 0 { print(2) }", "sleep 2"))
          .size(),
      3U);
  EXPECT_EQ(Ask({pid(), "call add_numbers { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("no import table leads to"));
}

TEST_F(ProbeTest, FindsFunctionsThatTheLibraryChooses) {
  for (const char* place : {"libc!memcpy", "call memcpy"}) {
    const auto records =
        Records(Probe(std::string(place) + "(void* to, const void* from, size_t size) if size == 1234 { "
                                           "print(size) }",
                      "copy 3"));
    EXPECT_THAT(records, ElementsAre("1234", "1234", "1234")) << place << errors_;
  }
}

TEST_F(ProbeTest, PrintsJson) {
  const std::string output = Probe("add_numbers { sum(a) by b }", "add 4", {"--json"});
  const size_t last_at = output.rfind('\n', output.size() - 2) + 1;
  const auto summary = nlohmann::json::parse(output.substr(last_at))["summary"];
  EXPECT_EQ(summary["hits"], 4);
  EXPECT_EQ(summary["missed"], 0);
  EXPECT_EQ(summary["is_off"], false);
  const size_t line_at = last_at < 2 ? 0 : output.rfind('\n', last_at - 2) + 1;
  const auto line = nlohmann::json::parse(output.substr(line_at, last_at - line_at));
  EXPECT_EQ(line["value"], 6);
  EXPECT_EQ(line["key"]["b"], 2);
}

TEST_F(ProbeTest, ShowsWhatTheProgramsEndCounts) {
  const auto console = Start({pid(), "exit { print(status) } add_numbers { print(a) }"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); }));
  program_->WriteInput("add 2\nexit 3\n");
  EXPECT_EQ(program_->Wait(), 3);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(Records(console->Output()), ::testing::UnorderedElementsAre("0", "1", "3"));
  EXPECT_THAT(console->Errors(), HasSubstr("3 hits"));  // exit() calls _exit()
}

TEST_F(ProbeTest, PatternsMeanFunctionsThatTheRulesTake) {
  const testing::ScopedTempDirectory directory;
  const std::string rules = directory / "some.rules";
  std::ofstream(rules) << "- add_*\n- file places_of_others.cc\n";
  ASSERT_EQ(Ask({pid(), "--functions", "*_number*", "--rules", rules}), 0) << errors_;
  EXPECT_THAT(output_, HasSubstr("scale_number"));
  EXPECT_THAT(output_, ::testing::Not(HasSubstr("add_numbers")));
  EXPECT_EQ(Ask({pid(), "add_n* { count }", "--rules", rules}), 2);
  EXPECT_THAT(errors_, HasSubstr("the rules leave out all 1 functions that 'add_n*' means"));
  // A name in full means its function. Rules for source files count, too.
  EXPECT_THAT(Records(Probe("add_numbers { print(a) }", "add 1", {"--rules", rules})), ElementsAre("0"));
  std::ofstream(rules) << "- file probed_program.cc\n";
  EXPECT_EQ(Ask({pid(), "add_n* { count }", "--rules", rules}), 2);
  EXPECT_THAT(errors_, HasSubstr("the rules leave out all"));
}

TEST_F(ProbeTest, PrintsATextAlone) {
  EXPECT_EQ(Records(Probe("add_numbers if a == 1 { print(\"here\") }", "add 3")),
            (std::vector<std::string>{"here"}));
  EXPECT_THAT(errors_, HasSubstr("a hit takes up to "));
}

TEST_F(ProbeTest, RunsTimersUntilTheTimeIsOver) {
  ASSERT_EQ(Ask({pid(), "timer 50ms { print(number) }", "--for", "500ms"}), 0);
  const auto records = Records(output_);
  ASSERT_GE(records.size(), 2U);
  EXPECT_GE(std::stoi(records.back()), 3);
}

}  // namespace
}  // namespace lagwatch::tools
