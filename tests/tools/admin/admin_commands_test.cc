// SPDX-License-Identifier: Apache-2.0
// The commands as they are typed, against the collector's program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/sample_report.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Process;
using testing::SampleReport;
using ::testing::SizeIs;

struct Outcome {
  int exit_code;
  std::string out;
  std::string err;
};

class AdminCommands : public ::testing::Test {
 protected:
  AdminCommands() {
    EXPECT_TRUE(testing::WaitUntil([&] { return collector_.Output().ends_with('\n'); }))
        << collector_.Errors();
    const std::string line = collector_.Output();
    url_ = line.substr(line.find("http://"), line.size() - line.find("http://") - 1);
    client_ =
        std::make_unique<testing::Client>(static_cast<uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1))));
    std::vector<std::string> reports;
    for (const char* user : {"one", "one", "two"}) {
      SampleReport report{.stack = {"Save", "OnSave"}};
      report.header.user = user;
      reports.push_back(report.Encode());
    }
    EXPECT_EQ(client_->Post(testing::EncodeBatch(reports)).status, 200);
  }

  Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), LAGWATCH_PROGRAM);
    arguments.insert(arguments.end(), {"--endpoint", url_, "--token", testing::kKey});
    Process process(arguments);
    process.CloseInput();
    const int exit_code = process.Wait();
    return {exit_code, process.Output(), process.Errors()};
  }
  nlohmann::ordered_json Ask(const std::string& path) { return client_->Get(path).json(); }

  testing::ScopedTempDirectory directory_;
  Process collector_{{LAGWATCH_COLLECTOR_PROGRAM, "--listen", "127.0.0.1:0", "--data", directory_ / "data",
                      "--retention-days", "0", "--admin-token", testing::kKey}};
  std::string url_;
  std::unique_ptr<testing::Client> client_;
};

TEST_F(AdminCommands, DeleteAUsersReportsOnceItIsConfirmed) {
  const Outcome unsure = Run({"delete", "user", "one"});
  EXPECT_EQ(unsure.exit_code, 1);
  EXPECT_THAT(unsure.err, HasSubstr("--yes"));
  EXPECT_THAT(Ask("/v1/reports"), SizeIs(3));
  const Outcome done = Run({"delete", "user", "one", "--yes"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "deleted: 2 reports, 0 traces, 0 other records\n");
  EXPECT_THAT(Ask("/v1/reports"), SizeIs(1));
  EXPECT_EQ(Ask("/v1/clusters")[0]["users"], 1);
  const std::string id = Ask("/v1/reports")[0]["id"];
  EXPECT_EQ(Run({"delete", "report", id, "--yes"}).exit_code, 0);
  EXPECT_THAT(Ask("/v1/reports"), IsEmpty());
}

TEST_F(AdminCommands, DeleteSaysWhatIsNotThere) {
  const Outcome outcome = Run({"delete", "cluster", "0123456789abcdef", "--yes"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no such cluster"));
  EXPECT_EQ(Run({"delete", "planet", "x", "--yes"}).exit_code, 2);
}

TEST_F(AdminCommands, ACauseThatIsIgnoredLeavesTheList) {
  const std::string key = Ask("/v1/clusters")[0]["key"];
  const Outcome changed = Run({"cause", key, "--state", "ignored", "--title", "Saving"});
  EXPECT_EQ(changed.exit_code, 0) << changed.err;
  EXPECT_EQ(changed.out, "title     Saving\nstate     ignored\n");
  EXPECT_EQ(Run({"cause", key}).out, changed.out);
  EXPECT_THAT(Run({"clusters"}).out, Not(HasSubstr("Saving")));
  EXPECT_THAT(Run({"clusters", "--state", "all"}).out, HasSubstr("[ignored] Saving"));
  EXPECT_THAT(Run({"clusters", "--state", "ignored,fixed"}).out, HasSubstr("Saving"));
  EXPECT_EQ(Run({"clusters", "--state", "great"}).exit_code, 1);
  EXPECT_EQ(Run({"cause", key, "--state", "great"}).exit_code, 1);
}

}  // namespace
}  // namespace lagwatch::tools
