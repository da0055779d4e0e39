// SPDX-License-Identifier: Apache-2.0
// The kernel's probes, at a program that is linked statically: no library can be loaded into it.
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

using ::testing::ElementsAre;

class KernelProbes : public ProbeTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "root alone may use the kernel's probes";
    program_ = std::make_unique<Process>(std::vector<std::string>{LAGWATCH_STATIC_PROBED_PROGRAM});
    ASSERT_TRUE(WaitUntil([&] { return program_->Output() == "ready\n"; }));
    if (Ask({pid(), "add_numbers { count }", "--kernel", "--for", "1ms"}) != 0)
      GTEST_SKIP() << "the kernel has no probes here: " << errors_;
  }
  // All code of the program, as it is in memory.
  std::string CodeInMemory() const {
    const std::string folder = "/proc/" + pid();
    std::ifstream maps(folder + "/maps");
    std::ifstream memory(folder + "/mem", std::ios::binary);
    std::string code;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(" r-xp ") == std::string::npos || line.find(" /") == std::string::npos) continue;
      const uint64_t begin = std::stoull(line, nullptr, 16);
      std::string bytes(std::stoull(line.substr(line.find('-') + 1), nullptr, 16) - begin, '\0');
      memory.seekg(static_cast<std::streamoff>(begin));
      memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      code += bytes;
    }
    return code;
  }
  std::string ByKernel(const std::string& script, const std::string& what) {
    return Probe(script, what, {"--kernel"});
  }
};

TEST_F(KernelProbes, SeeArgumentsAndResults) {
  EXPECT_THAT(Records(ByKernel("add_numbers(int a, int b) { print(a, b) }", "add 3")),
              ElementsAre("0 2", "1 2", "2 2"));
  EXPECT_THAT(
      Records(ByKernel("add_numbers(int a, int b) -> int @return { print(a, b, returned) }", "add 2")),
      ElementsAre("0 2 2", "1 2 3"));
  EXPECT_THAT(ByKernel("add_numbers { count by caller }", "outer 5"), HasSubstr("5  outer_caller"));
  EXPECT_THAT(errors_, HasSubstr("5 hits"));
}

TEST_F(KernelProbes, MeasureDurations) {
  const std::string output = ByKernel(
      "sleep_ms(int ms) @return if duration >= 5ms { slow: count } sleep_ms { all: count }", "sleep 6");
  EXPECT_THAT(output, HasSubstr("slow\n  3\n"));
  EXPECT_THAT(output, HasSubstr("all\n  6\n"));
}

TEST_F(KernelProbes, LetExceptionsThroughAndCountThem) {
  EXPECT_THAT(ByKernel("shop::Refuse @return { count }", "throw 11"), HasSubstr("count, at least\n  5\n"));
  EXPECT_THAT(errors_, HasSubstr("returns not seen"));
}

TEST_F(KernelProbes, AskConfinedPrograms) {
  Do("confine 1");
  EXPECT_THAT(ByKernel("add_numbers { count }", "add 7"), HasSubstr("7"));
  Do("add 1");
}

TEST_F(KernelProbes, LeaveTheCodeAsItWas) {
  const std::string before = CodeInMemory();
  ASSERT_FALSE(before.empty());
  const auto console = Start({pid(), "add_numbers @return { count }", "--kernel"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  EXPECT_NE(CodeInMemory(), before);
  console->Signal(SIGKILL);
  EXPECT_EQ(console->Wait(), -SIGKILL);
  EXPECT_TRUE(WaitUntil([&] { return CodeInMemory() == before; }));
  Do("add 10");
}

TEST_F(KernelProbes, TurnThemselvesOffOverTheirBudget) {
  const auto console = Start({pid(), "budget 0.01% add_numbers { count }", "--kernel"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  for (int i = 0; i < 200 && console->Errors().find("turned itself off") == std::string::npos; ++i)
    Do("add 20000");
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Errors(), HasSubstr("turned itself off"));
}

TEST_F(KernelProbes, ShowWhatTheProgramsEndLeaves) {
  const auto console = Start({pid(), "add_numbers { count }", "--kernel"});
  ASSERT_TRUE(WaitUntil([&] { return IsArmed(*console); })) << console->Errors();
  Do("add 9");
  program_->WriteInput("exit 0\n");
  EXPECT_EQ(program_->Wait(), 0);
  EXPECT_EQ(console->Wait(), 0);
  EXPECT_THAT(console->Output(), HasSubstr("count\n  9\n"));
  EXPECT_THAT(console->Errors(), HasSubstr("the program has ended"));
}

TEST_F(KernelProbes, RefuseWhatIsNotKnownLater) {
  for (const auto& [script, reason] : std::vector<std::pair<std::string, std::string>>{
           {"add_numbers { stack }", "a moment after the hit"},
           {"handle_request(void* request, char* tag) { count by str(tag) }", "a moment after the hit"},
           {"scale_number(double number, float factor) { sum(number) }", "a moment after the hit"},
           {"timer 1s { count }", "@entry and @return of functions only"},
           {"add_numbers @error { count }", "@entry and @return of functions only"}}) {
    EXPECT_EQ(Ask({pid(), script, "--kernel"}), 2) << script;
    EXPECT_THAT(errors_, HasSubstr(reason)) << script;
  }
  EXPECT_EQ(Ask({pid(), "add_numbers { count }", "--kernel", "--leave"}), 2);
  EXPECT_THAT(errors_, HasSubstr("end with this command"));
  EXPECT_EQ(Ask({pid(), "add_numbers { count }"}), 2);
  EXPECT_THAT(errors_, HasSubstr("--kernel"));
}

}  // namespace
}  // namespace lagwatch::tools
