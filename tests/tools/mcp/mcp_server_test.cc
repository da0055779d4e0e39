// SPDX-License-Identifier: Apache-2.0
// Messages of JSON-RPC, good and bad ones, as they come on a line.
#include "tools/mcp/mcp_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace lagwatch::tools {
namespace {

using ::testing::HasSubstr;
using ArgumentType = McpArgument::ArgumentType;

McpServer ServerForTest() {
  const McpTool echo{.name = "echo",
                     .title = "Echo",
                     .description = "Returns its text",
                     .arguments = {{"text", ArgumentType::kText, true, "A text"},
                                   {"times", ArgumentType::kCount, false, "So often", 1, 3}},
                     .call = [](const Json& arguments) -> base::Result<std::string> {
                       const auto text = arguments.at("text").get<std::string>();
                       if (text == "throw") throw std::runtime_error("thrown");
                       if (text == "fail") return base::Status(base::StatusCode::kNotFound, "call echo");
                       return text;
                     }};
  return {{echo}, "1.2.3", "Call echo."};
}

Json Answer(const std::string& line) {
  const std::string answer = ServerForTest().Answer(line);
  EXPECT_EQ(answer.find('\n'), std::string::npos);
  return answer.empty() ? Json() : Json::parse(answer);
}

int ErrorOf(const std::string& line) {
  const Json answer = Answer(line);
  EXPECT_EQ(answer.at("jsonrpc"), "2.0");
  EXPECT_FALSE(answer.contains("result")) << answer;
  return answer.at("error").at("code");
}

std::string Call(const std::string& parameters) {
  return R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":)" + parameters + "}";
}

TEST(McpServer, AnswersAsTheProtocolSays) {
  const Json hello = Answer(
      R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},)"
      R"("clientInfo":{"name":"test","version":"1"}}})");
  EXPECT_EQ(hello.at("id"), 1);
  EXPECT_EQ(hello.at("result").at("protocolVersion"), "2025-06-18");
  EXPECT_TRUE(hello.at("result").at("capabilities").contains("tools"));
  EXPECT_EQ(hello.at("result").at("serverInfo").at("version"), "1.2.3");
  EXPECT_EQ(Answer(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), Json());
  EXPECT_EQ(Answer(R"({"jsonrpc":"2.0","id":"a","method":"ping"})").at("result"), Json::object());
  const Json tools = Answer(R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})").at("result").at("tools");
  EXPECT_EQ(tools.at(0).at("inputSchema").at("required"), Json::array({"text"}));
  EXPECT_EQ(tools.at(0).at("inputSchema").at("additionalProperties"), false);
  const Json said = Answer(Call(R"({"name":"echo","arguments":{"text":"good","times":2}})"));
  EXPECT_EQ(said.at("id"), 7);
  EXPECT_EQ(said.at("result").at("content").at(0).at("text"), "good");
  EXPECT_EQ(said.at("result").at("isError"), false);
}

// The client ends the connection if it does not know that version.
TEST(McpServer, OffersItsNewestVersionToAClientOfAnotherOne) {
  const Json hello =
      Answer(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"1999-01-01"}})");
  EXPECT_EQ(hello.at("result").at("protocolVersion"), "2025-11-25");
}

TEST(McpServer, AnswersWhatIsNoRequestWithAnError) {
  for (const char* line : {"{", "nonsense", "\xff\xfe", "{\"jsonrpc\":\"2.0\"", "\"\\ud800\""})
    EXPECT_EQ(ErrorOf(line), -32700) << line;
  EXPECT_EQ(ErrorOf(std::string(kMaxMcpLineBytes + 1, ' ') + "x"), -32700);
  for (const char* line :
       {"1", "null", "\"text\"", "[]", "{}", R"({"id":1,"method":"ping"})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","id":{},"method":"ping"})", R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1,"method":7})", R"({"jsonrpc":"1.0","id":1,"method":"ping"})"})
    EXPECT_EQ(ErrorOf(line), -32600) << line;
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":1,"method":"resources/list"})"), -32601);
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})"), -32602);
  EXPECT_EQ(ErrorOf(R"({"jsonrpc":"2.0","id":1,"method":"initialize"})"), -32602);
  EXPECT_EQ(Answer(""), Json());
  EXPECT_EQ(Answer("  \r"), Json());
  EXPECT_EQ(Answer(R"({"jsonrpc":"2.0","id":1,"result":{}})"), Json());
}

TEST(McpServer, ChecksArgumentsBeforeItCallsATool) {
  EXPECT_EQ(ErrorOf(Call("{}")), -32602);
  EXPECT_EQ(ErrorOf(Call(R"({"name":"echo"})")), -32602);
  EXPECT_EQ(ErrorOf(Call(R"({"name":"echo","arguments":[]})")), -32602);
  EXPECT_EQ(ErrorOf(Call(R"({"name":"echo","arguments":{"text":1}})")), -32602);
  for (const char* times : {"0", "4", "1.5", "-1", "\"2\"", "18446744073709551615"})
    EXPECT_EQ(ErrorOf(Call(R"({"name":"echo","arguments":{"text":"x","times":)" + std::string(times) + "}}")),
              -32602)
        << times;
  const Json unknown = Answer(Call(R"({"name":"echo","arguments":{"text":"x","tmies":1}})"));
  EXPECT_THAT(unknown.at("error").at("message").get<std::string>(), HasSubstr("did you mean 'times'?"));
  const Json tool = Answer(Call(R"({"name":"ecco","arguments":{}})"));
  EXPECT_THAT(tool.at("error").at("message").get<std::string>(), HasSubstr("there are: echo"));
}

TEST(McpServer, TakesAToolsErrorForAnAnswerAndAnExceptionForItsOwn) {
  const Json failed = Answer(Call(R"({"name":"echo","arguments":{"text":"fail"}})"));
  EXPECT_EQ(failed.at("result").at("isError"), true);
  EXPECT_EQ(failed.at("result").at("content").at(0).at("text"), "call echo");
  EXPECT_EQ(ErrorOf(Call(R"({"name":"echo","arguments":{"text":"throw"}})")), -32603);
}

TEST(McpServer, AnswersEachRequestOfABatch) {
  const Json answers = Answer(
      R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/cancelled"},7])");
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers.at(0).at("id"), 1);
  EXPECT_EQ(answers.at(1).at("error").at("code"), -32600);
  EXPECT_EQ(Answer(R"([{"jsonrpc":"2.0","method":"notifications/cancelled"}])"), Json());
}

// A client may nest what it likes.
TEST(McpServer, SurvivesDeepNesting) {
  const std::string deep = std::string(500'000, '[') + std::string(500'000, ']');
  EXPECT_EQ(ErrorOf(deep), -32700);
  EXPECT_EQ(ErrorOf(Call(R"({"name":"echo","arguments":)" + deep + "}")), -32700);
  const std::string in_text(500'000, '[');
  EXPECT_EQ(
      Answer(Call(R"({"name":"echo","arguments":{"text":")" + in_text + "\"}}")).at("result").at("isError"),
      false);
}

}  // namespace
}  // namespace lagwatch::tools
