// SPDX-License-Identifier: Apache-2.0
// The command as it is typed, against the collector's program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"
#include "tools/symbols/symbols_text.h"

namespace lagwatch::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Process;

constexpr char kSubject[] = LAGWATCH_SYMBOLS_SUBJECT;

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

class SymbolsCommand : public ::testing::Test {
 protected:
  Process Start(std::vector<std::string> arguments = {}) {
    std::vector<std::string> all = {LAGWATCH_COLLECTOR_PROGRAM, "--listen",      "127.0.0.1:0", "--data",
                                    directory_ / "data",        "--admin-token", "k_test"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Process(all);
  }

  std::string UrlOf(const Process& collector) {
    EXPECT_TRUE(testing::WaitUntil([&] { return collector.Output().ends_with('\n'); })) << collector.Errors();
    std::string line = collector.Output();
    line.pop_back();
    return line.substr(line.find("http://"));
  }

  Outcome Run(std::vector<std::string> arguments, const std::string& url, const std::string& key = "k_test") {
    arguments.insert(arguments.begin(), {LAGWATCH_PROGRAM, "symbols"});
    arguments.insert(arguments.end(), {"--endpoint", url, "--token", key});
    Process process(arguments);
    const int exit_code = process.Wait();
    return {exit_code, process.Output(), process.Errors()};
  }

  // The results of a build: the subject in several forms, and other files.
  std::string BuildDirectory() {
    const std::string build = directory_ / "build";
    std::filesystem::create_directories(build + "/lib");
    std::filesystem::copy(kSubject, build + "/whole");
    std::filesystem::copy(kSubject + std::string(".symtab"), build + "/lib/with-symtab");
    std::filesystem::copy(kSubject + std::string(".stripped"), build + "/lib/stripped");
    std::filesystem::copy(kSubject + std::string(".debug"), build + "/lib/whole.debug");
    std::ofstream(build + "/README") << "text";
    return build;
  }

  testing::ScopedTempDirectory directory_;
};

TEST_F(SymbolsCommand, SendsWhatTheCollectorLacks) {
  Process collector = Start();
  const std::string url = UrlOf(collector);
  Outcome none = Run({"list"}, url);
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("no symbol files"));

  Outcome sent = Run({"upload", BuildDirectory(), "-v"}, url);
  EXPECT_EQ(sent.exit_code, 0) << sent.err;
  EXPECT_THAT(sent.err, IsEmpty());  // no bar where there is no terminal
  EXPECT_THAT(sent.out,
              AllOf(HasSubstr("2 files sent"), HasSubstr("0 already uploaded, 2 skipped"),
                    HasSubstr("lib/stripped: it is stripped"), HasSubstr("another file has its build id")));
  Outcome again = Run({"upload", directory_ / "build"}, url);
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, "0 files sent (0 B), 2 already uploaded, 2 skipped\n");

  Outcome list = Run({"list"}, url);
  EXPECT_THAT(list.out, AllOf(HasSubstr("BUILD ID"), HasSubstr("debug"), HasSubstr("executable")));
  EXPECT_EQ(Json::parse(Run({"list", "--json"}, url).out).size(), 2u);
}

// Nothing is accepted in silence of which only a part can be read.
TEST_F(SymbolsCommand, SaysWhatOfAFileCannotBeRead) {
  Process collector = Start();
  const std::string url = UrlOf(collector);
  const Outcome zstd = Run({"upload", kSubject + std::string(".zstd")}, url);
  EXPECT_EQ(zstd.exit_code, 0) << zstd.err;
  EXPECT_THAT(zstd.err, IsEmpty());
  const Outcome split = Run({"upload", kSubject + std::string("_split")}, url);
  EXPECT_EQ(split.exit_code, 0) << split.err;
  EXPECT_THAT(split.err, AllOf(HasSubstr("_split: "), HasSubstr("no inlined calls")));
}

TEST_F(SymbolsCommand, SendsAFileOfZeros) {
  Process collector = Start();
  const std::string file = directory_ / "zeros";
  std::filesystem::copy(kSubject, file);
  std::filesystem::resize_file(file, 3 << 20);
  Outcome sent = Run({"upload", file}, UrlOf(collector));
  EXPECT_EQ(sent.exit_code, 0) << sent.err;
  EXPECT_THAT(sent.out, HasSubstr("1 files sent"));
}

// More than fits into one body, over a connection that dies: the collector is killed and started again.
TEST_F(SymbolsCommand, GoesOnWhereItWasCutOff) {
  std::string url;
  {
    Process collector = Start();
    url = UrlOf(collector);
    Process upload({LAGWATCH_PROGRAM, "symbols", "upload", LAGWATCH_COLLECTOR_PROGRAM, "--endpoint", url,
                    "--token", "k_test"});
    const std::string unfinished = directory_ / "data/symbols/unfinished";
    ASSERT_TRUE(testing::WaitUntil([&] {
      std::error_code error;
      for (const auto& part : std::filesystem::directory_iterator(unfinished, error)) {
        if (part.file_size() >= 2 << 20) return true;
      }
      return false;
    }));
    upload.Signal(SIGKILL);
    EXPECT_EQ(upload.Wait(), -SIGKILL);
    collector.Signal(SIGKILL);
    EXPECT_EQ(collector.Wait(), -SIGKILL);
  }
  Process collector = Start();
  Outcome rest = Run({"upload", LAGWATCH_COLLECTOR_PROGRAM}, UrlOf(collector));
  EXPECT_EQ(rest.exit_code, 0) << rest.err;
  EXPECT_THAT(rest.out, HasSubstr("1 files sent"));
  const Json list = Json::parse(Run({"list", "--json"}, UrlOf(collector)).out);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0]["size_bytes"], std::filesystem::file_size(LAGWATCH_COLLECTOR_PROGRAM));
}

TEST_F(SymbolsCommand, SaysWhatToDo) {
  Process collector = Start();
  const std::string url = UrlOf(collector);
  Outcome wrong_key = Run({"upload", kSubject}, url, "k_wrong");
  EXPECT_EQ(wrong_key.exit_code, 1);
  EXPECT_THAT(wrong_key.err, HasSubstr("Authorization: Bearer"));
  // A project key is in every copy of a program.
  std::ifstream file(directory_ / "data/key");
  std::string project_key;
  ASSERT_TRUE(std::getline(file, project_key));
  Outcome project = Run({"upload", kSubject}, url, project_key);
  EXPECT_EQ(project.exit_code, 1);
  EXPECT_THAT(project.err, HasSubstr("admin"));
  Outcome no_file = Run({"upload", "/nowhere/file"}, url);
  EXPECT_EQ(no_file.exit_code, 1);
  EXPECT_THAT(no_file.err, HasSubstr("no such file or directory: /nowhere/file"));
  Outcome stripped = Run({"upload", kSubject + std::string(".stripped")}, url);
  EXPECT_EQ(stripped.exit_code, 1);
  EXPECT_THAT(stripped.err, HasSubstr("-v says why"));
  Outcome nobody = Run({"upload", kSubject}, "http://127.0.0.1:1");
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_THAT(nobody.err, HasSubstr("check --endpoint"));
  EXPECT_EQ(Run({"nonsense"}, url).exit_code, 2);
  EXPECT_EQ(Run({"upload"}, url).exit_code, 2);
}

TEST(ProgressLine, TellsBytesRateAndFiles) {
  EXPECT_EQ(ProgressLine(
                {.bytes = 500'000, .total_bytes = 1'000'000, .files = 3, .total_files = 7, .seconds = 0.5}),
            "[##########..........]  50 %  500.0 kB of 1.0 MB  1.0 MB/s  3 of 7 files");
  EXPECT_THAT(ProgressLine({}), HasSubstr("100 %"));
  EXPECT_EQ(ShortSize(999), "999 B");
  EXPECT_EQ(ShortSize(2'147'483'648), "2.1 GB");
}

}  // namespace
}  // namespace lagwatch::tools
