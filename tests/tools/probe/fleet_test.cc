// SPDX-License-Identifier: Apache-2.0
// Probes that a collector asks for: the real collector, real programs, their results and refusals.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/collector/http/http_client.h"
#include "tests/testing/configured_collector.h"
#include "tests/testing/temp_directory.h"
#include "tests/tools/probe/probe_testing.h"

namespace lagwatch::tools {
namespace {

using testing::Answer;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::ordered_json;

constexpr char kScript[] =
    "add_numbers(int a, int b) { calls: count by b; sum(a); histogram(a); who: count by stack }\n"
    "handle_request(void* request, const char* tag) {\n"
    "  tags: count by tag; requests: count by request; numbers: count by hex(5)\n"
    "}\n"
    "scale_number(double number, float factor) { nans: min((number - number) / (number - number)) }\n";

// Runs a command of `lagwatch` that ends by itself, and returns its output.
std::string OutputOf(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), LAGWATCH_PROGRAM);
  Process process(arguments);
  EXPECT_EQ(process.Wait(), 0) << process.Errors();
  return process.Output();
}

std::string FirstWordOf(const std::string& line) { return line.substr(0, line.find_first_of(" \n")); }

class FleetProbes : public ::testing::Test {
 protected:
  using Programs = std::vector<std::unique_ptr<Process>>;

  void SetUp() override { public_key_ = FirstWordOf(OutputOf({"probe-list", "--new-key", signer_})); }

  // Adds a script to the list, and returns its hash.
  std::string Sign(const std::string& script, const std::string& name = "adds") {
    const std::string file = directory_ / (name + ".lwp");
    std::ofstream(file) << script;
    scripts_.push_back(file);
    std::vector<std::string> arguments{"probe-list", "--sign", signer_};
    arguments.insert(arguments.end(), scripts_.begin(), scripts_.end());
    std::ofstream(list_) << OutputOf(arguments);
    std::istringstream shown(OutputOf({"probe-list", list_, "--key", public_key_}));
    for (std::string line; std::getline(shown, line);) {
      std::istringstream words(line);
      std::string hash;
      if (words >> line >> hash && line == name) return hash;
    }
    ADD_FAILURE() << "no script " << name;
    return "";
  }
  void Ask(const Json& requests) {
    collector_.Configure(Json{{"probe_requests", requests}}.dump());
    collector_.Start();
  }
  std::vector<std::string> FleetFlags() const {
    return {"--fleet-probes", list_, "--fleet-probes-key", public_key_};
  }
  Process* Start(const std::string& user, const std::vector<std::string>& flags) {
    std::vector<std::string> all = {LAGWATCH_PROGRAM,
                                    "run",
                                    "--quiet",
                                    "--app",
                                    "shop",
                                    "--app-version",
                                    "1.0",
                                    "--user",
                                    user,
                                    "--spool",
                                    directory_ / ("spool-" + user),
                                    "--endpoint",
                                    collector_.endpoint(),
                                    "--key",
                                    collector_.kKey,
                                    "--config-key",
                                    collector_.config_key()};
    all.insert(all.end(), flags.begin(), flags.end());
    all.insert(all.end(), {"--", LAGWATCH_PROBED_PROGRAM});
    programs_.push_back(std::make_unique<Process>(all));
    Process* const program = programs_.back().get();
    EXPECT_TRUE(WaitUntil([&] { return program->Output() == "ready\n"; })) << program->Errors();
    return program;
  }
  static std::string Armed(const Process& program) {
    Process list({LAGWATCH_PROGRAM, "probe", std::to_string(program.pid()), "--armed"});
    static_cast<void>(list.Wait());
    return list.Output();
  }
  static void Do(Process* program, const std::string& what) {
    const size_t before = program->Output().size();
    program->WriteInput(what + "\n");
    ASSERT_TRUE(WaitUntil([&] { return program->Output().find("done\n", before) != std::string::npos; }));
  }
  static std::string CodeOf(Process* program) {
    const size_t before = program->Output().size();
    program->WriteInput("code\n");
    EXPECT_TRUE(WaitUntil([&] { return program->Output().find("done\n", before) != std::string::npos; }));
    return program->Output().substr(before);
  }
  static void End(Process* program) {
    program->WriteInput("exit 0\n");
    EXPECT_EQ(program->Wait(), 0) << program->Errors();
  }
  Answer Get(const std::string& target) {
    const std::string& endpoint = collector_.endpoint();
    testing::Client client(static_cast<uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    client.headers = {"Authorization: Bearer " + collector_.admin_token()};
    return client.Get(target);
  }
  // The collector's answer about the script, once there are so many of clients.
  Json Answers(const std::string& script, int64_t count) {
    Json answers;
    EXPECT_TRUE(WaitUntil([&] {
      const Answer answer = Get("/v1/probes/" + script);
      if (answer.status == 200) answers = answer.json();
      return answer.status == 200 &&
             answers["runs"].get<int64_t>() + answers["refused"].get<int64_t>() >= count;
    })) << answers.dump();
    return answers;
  }
  static Json TableOf(const Json& answers, const std::string& name) {
    for (const Json& table : answers["tables"])
      if (table["name"] == name) return table;
    ADD_FAILURE() << "no table " << name << " in " << answers.dump();
    return {};
  }

  testing::ScopedTempDirectory directory_;
  const std::string signer_ = directory_ / "signer.key";
  const std::string list_ = directory_ / "probes.json";
  std::string public_key_;
  std::vector<std::string> scripts_;  // their files
  testing::ConfiguredCollector collector_{directory_ / "data"};
  Programs programs_;
};

TEST_F(FleetProbes, CountInProgramsOfManyUsersAndAreAddedUp) {
  const std::string script = Sign(kScript);
  Ask({{{"script", script}, {"app", "shop"}, {"duration_s", 600}}});
  std::vector<std::string> relative = FleetFlags();
  relative[1] = std::filesystem::relative(list_);
  Process* const one = Start("u-1", relative);
  Process* const other = Start("u-2", FleetFlags());
  for (Process* const program : {one, other}) {
    ASSERT_TRUE(
        WaitUntil([&] { return Armed(*program).find("for the collector: adds") != std::string::npos; }));
  }
  Do(one, "add 10");
  Do(other, "add 20");
  Do(other, "request 4");
  Do(other, "scale 1");
  End(one);
  End(other);
  const Json answers = Answers(script, 2);
  EXPECT_EQ(answers["name"], "adds");
  EXPECT_EQ(answers["runs"], 2);
  EXPECT_EQ(answers["refused"], 0);
  EXPECT_EQ(answers["users"], 2);
  EXPECT_EQ(answers["versions"], Json::parse(R"([{"app": "shop", "version": "1.0", "runs": 2}])"));
  EXPECT_EQ(TableOf(answers, "calls")["rows"], Json::parse(R"([{"key": [2], "count": 30}])"));
  EXPECT_EQ(TableOf(answers, "sum(a)")["rows"][0]["value"], 45 + 190);
  EXPECT_EQ(TableOf(answers, "tags")["rows"],
            Json::parse(R"([{"key": ["even"], "count": 2}, {"key": ["odd"], "count": 2}])"));
  EXPECT_EQ(TableOf(answers, "requests")["rows"],
            Json::parse(R"json([{"key": ["(unknown)"], "count": 4}])json"));
  EXPECT_EQ(TableOf(answers, "numbers")["rows"], Json::parse(R"([{"key": ["0x5"], "count": 4}])"));
  const Json nans = TableOf(answers, "nans");
  EXPECT_EQ(nans["rows"][0]["value"], Json());
  // 0, 1, 2 to 3, 4 to 7, 8 to 15 and 16 to 31, of 0 to 9 and 0 to 19.
  EXPECT_EQ(TableOf(answers, "histogram(a)")["rows"][0]["buckets"],
            Json::parse(R"([{"from": 0, "count": 2}, {"from": 1, "count": 2}, {"from": 2, "count": 4},
                            {"from": 4, "count": 8}, {"from": 8, "count": 10}, {"from": 16, "count": 4}])"));
  EXPECT_THAT(Get("/v1/probes/" + script + "?format=collapsed").text, HasSubstr("main;"));
  EXPECT_EQ(Get("/v1/probes").json()[0]["script"], script);
  EXPECT_EQ(Get("/v1/traces").json(), Json::array());
}

TEST_F(FleetProbes, ListsAreOfScriptsThatClientsCanRun) {
  const auto refusal = [&](const std::vector<std::string>& scripts) {
    std::vector<std::string> arguments{LAGWATCH_PROGRAM, "probe-list", "--sign", signer_};
    for (const std::string& script : scripts) {
      arguments.push_back(directory_ / ("bad" + std::to_string(arguments.size()) + ".lwp"));
      std::ofstream(arguments.back()) << script;
    }
    Process process(arguments);
    EXPECT_EQ(process.Wait(), 2);
    EXPECT_EQ(process.Output(), "");
    return process.Errors();
  };
  EXPECT_THAT(refusal({"add_numbers { count }  # caf\xe9\n"}), HasSubstr("not UTF-8"));
  EXPECT_THAT(refusal({"add_numbers(int a) { if (a > 1) { count } else { print(a) } }\n"}),
              HasSubstr("may only count"));
  const std::string long_script = "add_numbers { count }\n#" + std::string(60'000, 'x') + "\n";
  EXPECT_THAT(refusal(std::vector<std::string>(6, long_script)), HasSubstr("over 256 KiB"));
}

TEST_F(FleetProbes, WarnAtTheStartOfAListThatCannotBeRead) {
  Ask(Json::array());
  Process program({LAGWATCH_PROGRAM, "run", "--spool", directory_ / "spool", "--endpoint",
                   collector_.endpoint(), "--key", collector_.kKey, "--config-key", collector_.config_key(),
                   "--fleet-probes", "nonexistent.json", "--fleet-probes-key", public_key_, "--",
                   "/bin/true"});
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_THAT(program.Errors(), HasSubstr("nonexistent.json"));
}

TEST_F(FleetProbes, EndWithTheirTimeAndRunOnlyInProgramsThatAreMeant) {
  const std::string script = Sign("add_numbers { count }\n");
  const std::string of_others = Sign("outer_caller { count }\n", "others");
  Ask({{{"script", of_others}, {"app", "bank"}},
       {{"script", of_others}, {"app_version", "2.0"}},
       {{"script", of_others}, {"user_share_ppm", 0}},
       {{"script", script}, {"app_version", "1.0"}, {"duration_s", 1}}});
  Process* const program = Start("u-1", FleetFlags());
  const std::string code = CodeOf(program);
  const Json answers = Answers(script, 1);
  EXPECT_EQ(answers["runs"], 1);
  EXPECT_EQ(CodeOf(program), code);
  EXPECT_EQ(Armed(*program).find("for the collector"), std::string::npos);
  EXPECT_EQ(Get("/v1/probes").json().size(), 1u);
  EXPECT_EQ(Get("/v1/probes/" + of_others).status, 404);
  End(program);
}

TEST_F(FleetProbes, AreRefusedWithTheReason) {
  const std::string script = Sign(kScript);
  const std::string missing = Sign("no_such_function { count }\n", "missing");
  const std::string unknown = std::string(64, 'e');
  Ask({{{"script", script}}, {{"script", missing}}, {{"script", unknown}, {"app", "shop"}}});
  const std::string other_key = FirstWordOf(OutputOf({"probe-list", "--new-key", directory_ / "other.key"}));
  struct Case {
    std::string user;
    std::vector<std::string> flags;
  };
  std::vector<std::string> forbidden = FleetFlags();
  forbidden.emplace_back("--no-probes");
  const std::vector<Case> cases = {
      {"off", {}},
      {"forged", {"--fleet-probes", list_, "--fleet-probes-key", other_key}},
      {"missing", {"--fleet-probes", "/nonexistent", "--fleet-probes-key", public_key_}},
      {"forbidden", forbidden}};
  for (const Case& each : cases) Start(each.user, each.flags);
  const std::string code = CodeOf(programs_.front().get());
  const Json answers = Answers(script, 4);
  EXPECT_EQ(answers["runs"], 0);
  EXPECT_EQ(answers["tables"], Json::array());
  std::vector<std::string> reasons;
  for (const Json& refusal : answers["refusals"]) reasons.push_back(refusal["reason"]);
  EXPECT_THAT(reasons, UnorderedElementsAre(HasSubstr("without --fleet-probes"),
                                            HasSubstr("list of --fleet-probes is not used"),
                                            HasSubstr("list of --fleet-probes cannot be read"),
                                            HasSubstr("it has forbidden probes")));
  // Then equal reasons of many clients are one.
  for (const std::string& reason : reasons)
    EXPECT_EQ(reason.find_first_of("0123456789"), std::string::npos) << reason;
  EXPECT_THAT(Answers(missing, 4)["refusals"].dump(), HasSubstr("no function 'no_such_function'"));
  const Json of_unknown = Answers(unknown, 4);
  EXPECT_EQ(of_unknown["name"], "");
  EXPECT_THAT(of_unknown["refusals"].dump(), HasSubstr("is not in the list"));
  for (const auto& program : programs_) {
    EXPECT_EQ(CodeOf(program.get()), code);
    EXPECT_EQ(Armed(*program), "");
  }
}

}  // namespace
}  // namespace lagwatch::tools
