// SPDX-License-Identifier: Apache-2.0
// `lagwatch open` shows a spool on the collector's page, and leaves nothing. The listener of all tests fails
// one after which a process or a temporary file is left (tests/testing/leftovers.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/run/run_testing.h"

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::WaitUntil;

class OpenTest : public RunTest {
 protected:
  // Puts a report into the spool.
  void SetUp() override {
    Process program(Watched({LAGWATCH_WAIT_LOOP, "poll", "500"}));
    ASSERT_EQ(program.Wait(), 0) << program.Errors();
    const json reports = Ask({"reports"});
    ASSERT_FALSE(reports.empty());
    report_id_ = reports[0].at("id");
    count_ = reports.size();
  }
  // The address that is printed, and the token.
  static std::pair<std::string, std::string> AddressOf(const Process& open) {
    const auto has_address = [&] {
      return open.Output().find("#token=") != std::string::npos && open.Output().ends_with('\n');
    };
    EXPECT_TRUE(WaitUntil(has_address, 60)) << open.Output() << open.Errors();
    const std::string output = open.Output();
    const size_t begin = output.find("http://");
    const size_t mark = output.find("#token=");
    if (begin == std::string::npos || mark == std::string::npos) return {};
    const size_t end = output.find('\n', mark);
    return {output.substr(begin, mark - begin), output.substr(mark + 7, end - mark - 7)};
  }
  static std::string Fetch(const std::string& url, const std::string& token = "none") {
    Process curl({"curl", "-s", "-H", "Authorization: Bearer " + token, url});
    EXPECT_EQ(curl.Wait(), 0) << url;
    return curl.Output();
  }
  // All files of the spool, with their contents and times.
  std::map<std::string, std::string> Spool() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(spool_)) {
      files[entry.path()] = std::to_string(entry.last_write_time().time_since_epoch().count());
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path()] += std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
  }

  std::string report_id_;
  size_t count_ = 0;
};

TEST_F(OpenTest, TheCollectorsPageShowsTheSpoolUntilASignal) {
  const auto before = Spool();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Process open({LAGWATCH_PROGRAM, "open", spool_});
    const auto [url, token] = AddressOf(open);
    EXPECT_THAT(open.Output(),
                StartsWith(std::to_string(count_) + (count_ == 1 ? " report of " : " reports of ") + spool_ +
                           ", until Ctrl-C, at\nhttp://127.0.0.1:"));
    const json reports = json::parse(Fetch(url + "v1/reports", token));
    ASSERT_EQ(reports.size(), count_);
    EXPECT_EQ(reports[0].at("id"), report_id_);
    EXPECT_THAT(Fetch(url), HasSubstr("<title>lagwatch</title>"));
    EXPECT_THAT(Fetch(url + "v1/reports"), HasSubstr("unauthorized"));
    open.Signal(signal);
    EXPECT_EQ(open.Wait(), 0) << open.Errors();
    EXPECT_EQ(open.Errors(), "");
  }
  EXPECT_EQ(Spool(), before);
}

TEST_F(OpenTest, FramesHaveLinesByTheFilesOfThisMachine) {
  Process open({LAGWATCH_PROGRAM, "open", "--spool", spool_, report_id_});
  const auto [url, token] = AddressOf(open);
  EXPECT_THAT(url, ::testing::EndsWith("/reports/" + report_id_));
  const std::string report = url.substr(0, url.find("/reports/")) + "/v1/reports/" + report_id_;
  std::string text;
  EXPECT_TRUE(WaitUntil([&, token = token] {
    text = Fetch(report, token);
    return text.find("wait_loop.cc") != std::string::npos;
  })) << text;
  open.Signal(SIGINT);
  EXPECT_EQ(open.Wait(), 0);
}

TEST_F(OpenTest, TheCollectorEndsWithACommandThatIsKilled) {
  const fs::path temporary = fs::temp_directory_path();
  Process open({LAGWATCH_PROGRAM, "open", spool_});
  const auto [url, token] = AddressOf(open);
  open.Signal(SIGKILL);
  EXPECT_EQ(open.Wait(), -SIGKILL);
  EXPECT_TRUE(WaitUntil([&, url = url] { return Process({"curl", "-s", url}).Wait() != 0; }));
  for (const auto& entry : fs::directory_iterator(temporary))
    if (entry.path().filename().string().starts_with("lagwatch-open-")) fs::remove_all(entry.path());
}

TEST_F(OpenTest, SaysWhatIsMissing) {
  Process none({LAGWATCH_PROGRAM, "open", "--spool", spool_, "00000000"});
  EXPECT_EQ(none.Wait(), 1);
  EXPECT_THAT(none.Errors(), HasSubstr("lagwatch: open: no "));
  Process nonsense({LAGWATCH_PROGRAM, "open", "no-such-place"});
  EXPECT_EQ(nonsense.Wait(), 2);
  EXPECT_THAT(nonsense.Errors(), HasSubstr("neither a spool directory nor a report's id"));
  Process nowhere({LAGWATCH_PROGRAM, "open", "--spool", directory_ / "nothing"});
  EXPECT_EQ(nowhere.Wait(), 1);
  EXPECT_THAT(nowhere.Errors(), HasSubstr("cannot read the spool directory"));
  // Installed without the collector.
  fs::create_directories(directory_ / "bin");
  fs::create_directories(directory_ / "lib");
  fs::copy_file(LAGWATCH_PROGRAM, directory_ / "bin/lagwatch");
  fs::create_symlink("/usr/bin", directory_ / "path");
  fs::copy_file(LAGWATCH_COMMANDS, directory_ / "lib/lagwatch-commands");
  Process alone({directory_ / "bin/lagwatch", "open", spool_}, {"PATH=" + directory_ / "path"});
  EXPECT_EQ(alone.Wait(), 1);
  EXPECT_THAT(alone.Errors(), HasSubstr("install it (the package lagwatch-collector)"));
}

}  // namespace
}  // namespace lagwatch::tools
