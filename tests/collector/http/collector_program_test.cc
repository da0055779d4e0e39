// SPDX-License-Identifier: Apache-2.0
// The program itself: how it starts, what it says, how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Process;
using ::testing::StartsWith;

Process Start(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LAGWATCH_COLLECTOR_PROGRAM);
  return Process(std::move(arguments));
}

// The line that says where it listens.
std::string ReadyLine(const Process& collector) {
  EXPECT_TRUE(testing::WaitUntil([&] { return collector.Output().ends_with('\n'); })) << collector.Errors();
  return collector.Output();
}

int Stop(Process* collector, int signal_number) {
  collector->Signal(signal_number);
  return collector->Wait();
}

mode_t ModeOf(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 0777;
}

std::string ContentOf(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

class CollectorProgram : public ::testing::Test {
 protected:
  testing::ScopedTempDirectory directory_;
  std::string data_ = directory_ / "data";
};

TEST_F(CollectorProgram, SaysWhereItListensMakesAKeyAndStopsOnSigterm) {
  Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_});
  EXPECT_THAT(ReadyLine(collector),
              MatchesRegex("lagwatch-collector listening on http://127.0.0.1:[0-9]+\n"));
  EXPECT_EQ(Stop(&collector, SIGTERM), 0);

  std::string key = ContentOf(data_ + "/key");
  EXPECT_THAT(key, MatchesRegex("k_[0-9a-f]+\n"));
  EXPECT_EQ(key.size(), 35u);
  EXPECT_EQ(ModeOf(data_), 0700u);
  EXPECT_EQ(ModeOf(data_ + "/key"), 0600u);
  EXPECT_EQ(ModeOf(data_ + "/collector.db"), 0600u);
  EXPECT_THAT(ContentOf(data_ + "/admin-token"), MatchesRegex("a_[0-9a-f]+\n"));
  EXPECT_EQ(ModeOf(data_ + "/admin-token"), 0600u);
  EXPECT_EQ(ModeOf(data_ + "/keys.json"), 0600u);
  EXPECT_THAT(collector.Errors(), HasSubstr(data_ + "/key"));
  EXPECT_THAT(collector.Errors(), HasSubstr(data_ + "/admin-token"));
  EXPECT_THAT(collector.Errors(), Not(HasSubstr(key.substr(0, key.size() - 1))));
}

TEST_F(CollectorProgram, KeepsItsKeyAndStopsOnSigint) {
  std::vector<std::string> keys;
  for (int start = 0; start < 2; ++start) {
    Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_});
    ReadyLine(collector);
    EXPECT_EQ(Stop(&collector, SIGINT), 0);
    keys.push_back(ContentOf(data_ + "/key"));
  }
  EXPECT_EQ(keys[0], keys[1]);
}

TEST_F(CollectorProgram, WithoutArgumentsSaysWhatItWouldDoAndDoesNothing) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  Process collector = Start({});
  EXPECT_EQ(collector.Wait(), 0);
  std::filesystem::current_path(before);
  EXPECT_THAT(collector.Output(), HasSubstr("--retention-days"));
  EXPECT_THAT(collector.Output(),
              HasSubstr("Nothing was started. `lagwatch-collector --data lagwatch-data` would"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(CollectorProgram, WritesItsLogAsJson) {
  Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_, "--log-format", "json"});
  ReadyLine(collector);
  EXPECT_EQ(Stop(&collector, SIGTERM), 0);
  EXPECT_THAT(
      collector.Errors(),
      ::testing::ContainsRegex(R"(\{"time":"20[^"]+Z","level":"info","message":"stopping on signal 15"\})"));
}

TEST_F(CollectorProgram, KeepsKeysOutOfItsLog) {
  Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_});
  const std::string line = ReadyLine(collector);
  testing::Client client(static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1))));
  client.headers.clear();
  const std::string body = "{}";
  for (const char* target : {"/api/1/envelope/?sentry_version=7&sentry_key=k_secret",
                             "/api/1/envelope/%3fsentry_key=k_secret", "/api/1/envelope/&sentry_key=k_secret",
                             "/api/1/nothing;sentry_key=k_secret?x=1", "/v1/reports?user=k_secret"}) {
    EXPECT_GE(client.Perform("POST", target, &body).status, 400) << target;
  }
  EXPECT_EQ(Stop(&collector, SIGTERM), 0);
  EXPECT_EQ(testing::Count(collector.Errors(), "refused with"), 5u) << collector.Errors();
  EXPECT_THAT(collector.Errors(), HasSubstr("/api/1/envelope/"));
  EXPECT_THAT(collector.Errors(), Not(HasSubstr("secret")));
}

TEST_F(CollectorProgram, LivesOnWhenItIsToldToReadItsCertificateAgain) {
  Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_});
  ReadyLine(collector);
  collector.Signal(SIGHUP);
  EXPECT_EQ(Stop(&collector, SIGTERM), 0);
}

TEST_F(CollectorProgram, DoesNotStartWithDamagedKeys) {
  std::filesystem::create_directory(data_);
  std::ofstream(data_ + "/keys.json") << "{";
  Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_});
  EXPECT_EQ(collector.Wait(), 1);
  EXPECT_THAT(collector.Errors(), HasSubstr("keys.json is damaged"));
}

TEST_F(CollectorProgram, PrintsTheKeyThatItsConfigIsKnownBy) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2; ++i) {
    Process collector = Start({"--data", data_, "--print-public-key"});
    EXPECT_EQ(collector.Wait(), 0) << collector.Errors();
    keys.push_back(collector.Output());
  }
  EXPECT_THAT(keys[0], MatchesRegex("[0-9a-f]+\n"));
  EXPECT_EQ(keys[0].size(), 65u);
  EXPECT_EQ(keys[0], keys[1]);
  EXPECT_EQ(ModeOf(data_ + "/signing-key"), 0600u);
  EXPECT_NE(ContentOf(data_ + "/signing-key"), keys[0]);
}

TEST_F(CollectorProgram, MakesNoKeyWhenOneIsGiven) {
  Process collector =
      Start({"--listen", "127.0.0.1:0", "--data", data_, "--key", "k_mine", "--admin-token", "a_mine"});
  ReadyLine(collector);
  EXPECT_EQ(Stop(&collector, SIGTERM), 0);
  for (const char* file : {"/key", "/admin-token", "/keys.json"})
    EXPECT_FALSE(std::filesystem::exists(data_ + file)) << file;
}

TEST_F(CollectorProgram, AddsListsAndRevokesKeysWithoutServing) {
  std::filesystem::create_directory(data_);
  Process add = Start({"keys", "--data", data_, "add", "--name", "ci", "--access", "read", "--expires", "90d",
                       "--bytes-per-day", "5MB"});
  EXPECT_EQ(add.Wait(), 0) << add.Errors();
  EXPECT_THAT(add.Output(), MatchesRegex("r_[0-9a-f]+\n"));
  EXPECT_THAT(ContentOf(data_ + "/keys.json"), Not(HasSubstr(add.Output().substr(2, 32))));
  Process list = Start({"keys", "list", "--data", data_});
  EXPECT_EQ(list.Wait(), 0);
  EXPECT_THAT(list.Output(), ::testing::ContainsRegex("ci +read +20.*5242880 bytes/day"));
  Process taken = Start({"keys", "--data", data_, "add", "--name", "ci", "--access", "project"});
  EXPECT_EQ(taken.Wait(), 1);
  EXPECT_THAT(taken.Errors(), HasSubstr("choose another name"));
  EXPECT_EQ(Start({"keys", "revoke", "ci", "--data", data_}).Wait(), 0);
  const std::string audit = ContentOf(data_ + "/audit.jsonl");
  EXPECT_THAT(audit, ::testing::ContainsRegex(
                         R"x("by":"command line \([^"]+\)","action":"key.add","subject":"ci")x"));
  EXPECT_THAT(audit, HasSubstr(R"("action":"key.revoke","subject":"ci")"));
  EXPECT_EQ(Start({"keys", "revoke", "ci", "--data", data_}).Wait(), 1);
  EXPECT_EQ(Start({"keys", "add", "--name", "x", "--access", "god", "--data", data_}).Wait(), 2);
  EXPECT_EQ(Start({"keys", "add", "--name", "x", "--access", "read", "--expires", "soon"}).Wait(), 2);
}

TEST_F(CollectorProgram, SaysThatThePortIsTaken) {
  Process first = Start({"--listen", "127.0.0.1:0", "--data", data_});
  std::string line = ReadyLine(first);
  std::string address = line.substr(line.find("127."));
  address.pop_back();
  Process second = Start({"--listen", address, "--data", directory_ / "other"});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Errors(), HasSubstr("another program has this port"));
}

TEST_F(CollectorProgram, IsTheOnlyOneOfItsDirectory) {
  Process first = Start({"--listen", "127.0.0.1:0", "--data", data_});
  ReadyLine(first);
  Process second = Start({"--listen", "127.0.0.1:0", "--data", data_});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Errors(), HasSubstr("another collector serves the data directory " + data_));
  first.Signal(SIGKILL);
  EXPECT_EQ(first.Wait(), -SIGKILL);
  Process third = Start({"--listen", "127.0.0.1:0", "--data", data_});
  ReadyLine(third);
  EXPECT_EQ(Stop(&third, SIGTERM), 0);
}

TEST_F(CollectorProgram, SaysThatItCannotHaveItsDirectory) {
  std::ofstream(data_) << "a file in the way";
  Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_ + "/inside"});
  EXPECT_EQ(collector.Wait(), 1);
  EXPECT_THAT(collector.Errors(), HasSubstr("give another with --data"));
}

TEST_F(CollectorProgram, SaysWhichClusterRuleIsWrong) {
  std::ofstream(directory_ / "rules.txt") << "[waits]\nfine\nnot*so*fine\n";
  for (const std::string& rules : {directory_ / "rules.txt", directory_ / "."}) {
    Process collector = Start({"--listen", "127.0.0.1:0", "--data", data_, "--cluster-rules", rules});
    EXPECT_EQ(collector.Wait(), 1);
    EXPECT_THAT(collector.Errors(), HasSubstr("rules.txt, line 3"));
  }
}

TEST_F(CollectorProgram, WantsRulesInADirectoryOfRules) {
  std::filesystem::create_directories(directory_ / "none");
  Process collector =
      Start({"--listen", "127.0.0.1:0", "--data", data_, "--cluster-rules", directory_ / "none"});
  EXPECT_EQ(collector.Wait(), 1);
  EXPECT_THAT(collector.Errors(), HasSubstr("no cluster rules"));
}

TEST(CollectorUsage, EndsWith2WhenItIsWrong) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"--listen", "nonsense"},
                                                                     {"--bogus"},
                                                                     {"--threads", "0"},
                                                                     {"--cluster-by", "taste"},
                                                                     {"--max-body-bytes", "many"},
                                                                     {"--max-bytes-in-flight", "1000"},
                                                                     {"--log-format", "xml"},
                                                                     {"--tls-cert", "x"}}) {
    EXPECT_EQ(Start(arguments).Wait(), 2) << arguments[0];
  }
  EXPECT_EQ(Start({"--help"}).Wait(), 0);
  Process version = Start({"--version"});
  EXPECT_EQ(version.Wait(), 0);
  EXPECT_THAT(version.Output(), StartsWith("lagwatch-collector "));
}

}  // namespace
}  // namespace lagwatch::collector
