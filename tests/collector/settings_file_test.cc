// SPDX-License-Identifier: Apache-2.0
#include "collector/settings_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "collector/flags.h"
#include "tests/collector/http/http_client.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::collector {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Process;

class SettingsFile : public ::testing::Test {
 protected:
  Flags Parse(const std::string& settings, std::vector<std::string> arguments = {}) {
    std::ofstream(file_) << settings;
    Flags flags;
    CLI::App app;
    Declare(&flags, &app);
    arguments.insert(arguments.begin(), {"--settings", file_});
    std::ranges::reverse(arguments);  // as CLI11 takes them
    app.parse(std::move(arguments));
    return flags;
  }
  std::string ErrorOf(const std::string& settings) {
    try {
      Parse(settings);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "none";
  }

  testing::ScopedTempDirectory directory_;
  std::string file_ = directory_ / "collector.toml";
};

TEST_F(SettingsFile, HasTextsNumbersAndLists) {
  const Flags flags = Parse(
      "listen = '127.0.0.1:1'\nretention_days = 7\nstore_gib = 0.5\nquery_timeout_s = 9\ncluster_by = 'raw'\n"
      "app_quota = ['editor=3', 'nightly=4']\nkey = 'one'\n"
      "source = ['editor=https://a.example/{file}']\nsource_root = ['editor=/b']\n");
  EXPECT_EQ(flags.listen, "127.0.0.1:1");
  EXPECT_EQ(flags.retention_days, 7);
  EXPECT_EQ(flags.store_gib, 0.5);
  EXPECT_EQ(flags.http.query_time, std::chrono::seconds(9));
  EXPECT_EQ(flags.cluster_by, policies::ClusterBy::kRaw);
  EXPECT_THAT(flags.app_quotas, ElementsAre("editor=3", "nightly=4"));
  EXPECT_THAT(flags.keys, ElementsAre("one"));
  EXPECT_EQ(flags.ToSources().at("editor").ToJson(""),
            Json({{"url", "https://a.example/{file}"}, {"root", "/b/"}}));
}

TEST_F(SettingsFile, EveryFlagHasItsKey) {
  Flags flags;
  CLI::App app;
  Declare(&flags, &app);
  std::vector<const CLI::Option*> options;
  const CLI::App* everything = &app;
  for (const CLI::Option* option : everything->get_options()) options.push_back(option);
  for (const CLI::App* group :
       everything->get_subcommands([](const CLI::App* each) { return each->get_name().empty(); }))
    for (const CLI::Option* option : group->get_options()) options.push_back(option);
  int count = 0;
  for (const CLI::Option* option : options) {
    if (!option->get_configurable() || option == app.get_help_ptr() || option == app.get_version_ptr())
      continue;
    std::string key = option->get_single_name();
    std::ranges::replace(key, '-', '_');
    // Each takes a number of 1, or says what it takes instead.
    std::string settings = key + " = 1\n";
    if (key.starts_with("tls_")) settings = "tls_cert = 1\ntls_key = 1\n";
    const std::string error = ErrorOf(settings);
    if (error != "none") {
      EXPECT_THAT(error, HasSubstr("--" + option->get_single_name()));
    }
    ++count;
  }
  EXPECT_GT(count, 30);
}

TEST_F(SettingsFile, TheCommandLineOverridesIt) {
  const Flags flags = Parse("retention_days = 7\napp_quota = ['editor=3']\n",
                            {"--retention-days", "8", "--app-quota", "nightly=4"});
  EXPECT_EQ(flags.retention_days, 8);
  EXPECT_THAT(flags.app_quotas, ElementsAre("nightly=4"));
}

TEST_F(SettingsFile, RefusesWhatItDoesNotKnowWithTheLine) {
  EXPECT_THAT(ErrorOf("retention_days = 7\nretention = 8\n"),
              HasSubstr("collector.toml: line 2: there is no setting 'retention'"));
  EXPECT_THAT(ErrorOf("retention-days = 7\n"), HasSubstr("no setting 'retention-days'"));
  EXPECT_THAT(ErrorOf("print_seal_key = true\n"), HasSubstr("no setting"));
  EXPECT_THAT(ErrorOf("settings = 'x'\n"), HasSubstr("no setting"));
  EXPECT_THAT(ErrorOf("retention_days = [7, 8]\n"), HasSubstr("has one value"));
  EXPECT_THAT(ErrorOf("app_quota = [['a']]\n"), HasSubstr("texts and numbers only"));
  EXPECT_THAT(ErrorOf("[limits]\nthreads = 1\n"), HasSubstr("'limits'"));
  EXPECT_THAT(ErrorOf("retention_days = 40000\n"), HasSubstr("--retention-days"));
  EXPECT_THAT(ErrorOf("retention_days = \n"), HasSubstr("line 1"));
}

TEST_F(SettingsFile, CommandsOfTheProgramGoByIt) {
  std::filesystem::create_directory(directory_ / "data");
  std::ofstream(file_) << "data = '" << (directory_ / "data") << "'\n";
  Process add({LAGWATCH_COLLECTOR_PROGRAM, "keys", "add", "--settings", file_, "--name", "alice", "--access",
               "read"});
  EXPECT_EQ(add.Wait(), 0) << add.Errors();
  Process list({LAGWATCH_COLLECTOR_PROGRAM, "keys", "list", "--data", directory_ / "data"});
  EXPECT_EQ(list.Wait(), 0);
  EXPECT_THAT(list.Output(), HasSubstr("alice"));
  std::ofstream(file_) << "data = 1.5.2\n";
  Process wrong({LAGWATCH_COLLECTOR_PROGRAM, "--settings", file_});
  EXPECT_EQ(wrong.Wait(), 2);
  EXPECT_THAT(wrong.Errors(), HasSubstr("collector.toml: line 1"));
}

TEST_F(SettingsFile, IsEnoughForTheProgramToServe) {
  const std::string data = directory_ / "data";
  std::ofstream(file_) << "listen = '127.0.0.1:0'\ndata = '" << data
                       << "'\nadmin_token = 'a_of_settings'\nlog_format = 'json'\nmin_free_mib = 0\n";
  Process collector({LAGWATCH_COLLECTOR_PROGRAM, "--settings", file_});
  ASSERT_TRUE(testing::WaitUntil([&] { return collector.Output().ends_with('\n'); })) << collector.Errors();
  EXPECT_TRUE(std::filesystem::exists(data + "/collector.db"));
  EXPECT_FALSE(std::filesystem::exists(data + "/admin-token"));  // one was given
  const std::string line = collector.Output();
  testing::Client client(static_cast<uint16_t>(std::stoi(line.substr(line.rfind(':') + 1))));
  client.headers = {"Authorization: Bearer a_of_settings"};
  EXPECT_EQ(client.Get("/v1/key").status, 200);
  collector.Signal(SIGTERM);
  EXPECT_EQ(collector.Wait(), 0);
  EXPECT_THAT(collector.Errors(), HasSubstr(R"("level":"info")"));
}

}  // namespace
}  // namespace lagwatch::collector
