// SPDX-License-Identifier: Apache-2.0
#include "tools/mcp/mcp_server.h"

#include <algorithm>
#include <exception>
#include <iterator>

#include "base/command_line/nearest_word.h"

namespace lagwatch::tools {
namespace {

// Codes of JSON-RPC 2.0.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kInternalError = -32603;

// The newest first. Tools are the same in all of them.
constexpr const char* kProtocolVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

// Whether values are nested so deeply that copying them would take the stack; no request is.
bool IsTooDeep(std::string_view line) {
  constexpr int kMostLevels = 64;
  int level = 0;
  bool is_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') is_text = !is_text;
    if (is_text && line[i] == '\\') ++i;
    if (is_text) continue;
    if (line[i] == '[' || line[i] == '{') ++level;
    if (line[i] == ']' || line[i] == '}') --level;
    if (level > kMostLevels) return true;
  }
  return false;
}

Json ErrorJson(const Json& id, int code, const std::string& message) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
}

bool IsId(const Json& id) { return id.is_string() || id.is_number_integer(); }

Json SchemaOf(const McpTool& tool) {
  Json schema = {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  Json required = Json::array();
  for (const McpArgument& argument : tool.arguments) {
    const bool is_text = argument.type == McpArgument::ArgumentType::kText;
    Json property = {{"type", is_text ? "string" : "integer"}, {"description", argument.description}};
    if (!is_text) property["minimum"] = argument.least, property["maximum"] = argument.most;
    schema["properties"][argument.name] = std::move(property);
    if (argument.is_required) required.push_back(argument.name);
  }
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

// An error's message; empty for a value that the argument may have.
std::string CheckValue(const McpArgument& argument, const Json& value) {
  const std::string name(argument.name);
  if (argument.type == McpArgument::ArgumentType::kText)
    return value.is_string() ? "" : "'" + name + "' must be a string";
  const bool is_in_range = value.is_number_integer() && value >= argument.least && value <= argument.most;
  return is_in_range ? ""
                     : "'" + name + "' must be an integer from " + std::to_string(argument.least) + " to " +
                           std::to_string(argument.most);
}

// The same for all arguments of a call.
std::string CheckArguments(const McpTool& tool, const Json& arguments) {
  if (!arguments.is_object()) return "'arguments' must be an object";
  std::vector<std::string> names;
  for (const McpArgument& argument : tool.arguments) {
    names.emplace_back(argument.name);
    const auto value = arguments.find(argument.name);
    if (value == arguments.end()) {
      if (argument.is_required)
        return std::string(tool.name) + " needs '" + argument.name + "': " + argument.description;
      continue;
    }
    if (std::string problem = CheckValue(argument, *value); !problem.empty()) return problem;
  }
  for (const auto& [name, value] : arguments.items()) {
    if (std::ranges::find(names, name) != names.end()) continue;
    const std::string nearest = base::NearestWord(name, names);
    return std::string(tool.name) + " has no argument '" + name + "'" +
           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?");
  }
  return "";
}

Json TextResult(const std::string& text, bool is_error) {
  return {{"content", Json::array({{{"type", "text"}, {"text", text}}})}, {"isError", is_error}};
}

}  // namespace

std::string McpServer::Answer(std::string_view line) const {
  const auto text = [](const Json& json) {
    return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
  };
  if (line.find_first_not_of(" \t\r\n") == std::string_view::npos) return "";
  const Json message = line.size() > kMaxMcpLineBytes || IsTooDeep(line)
                           ? Json(Json::value_t::discarded)
                           : Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded())
    return text(ErrorJson(nullptr, kParseError, "the line is not JSON in UTF-8, or too large"));
  if (!message.is_array()) {
    const Json answer = AnswerMessage(message);
    return answer.is_null() ? "" : text(answer);
  }
  // A batch, which 2025-03-26 has.
  if (message.empty()) return text(ErrorJson(nullptr, kInvalidRequest, "the batch is empty"));
  Json answers = Json::array();
  for (const Json& each : message)
    if (Json answer = AnswerMessage(each); !answer.is_null()) answers.push_back(std::move(answer));
  return answers.empty() ? "" : text(answers);
}

Json McpServer::AnswerMessage(const Json& message) const {
  if (!message.is_object()) return ErrorJson(nullptr, kInvalidRequest, "a request is an object");
  const Json id = message.value("id", Json());
  const bool is_notification = !message.contains("id");
  if (!is_notification && !IsId(id))
    return ErrorJson(nullptr, kInvalidRequest, "'id' must be a string or an integer");
  // An answer to a request: this server makes none.
  if (!message.contains("method") && (message.contains("result") || message.contains("error"))) return {};
  if (message.value("jsonrpc", Json()) != "2.0" || !message.value("method", Json()).is_string())
    return ErrorJson(id, kInvalidRequest, "a request has \"jsonrpc\": \"2.0\" and a 'method'");
  if (is_notification) return {};
  const Json parameters = message.value("params", Json::object());
  if (!parameters.is_object()) return ErrorJson(id, kInvalidParams, "'params' must be an object");
  try {
    Outcome outcome = Dispatch(message["method"].get<std::string>(), parameters);
    if (!outcome.errors.empty())
      return ErrorJson(id, outcome.errors.front().code, outcome.errors.front().message);
    return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(outcome.result)}};
  } catch (const std::exception& error) {
    return ErrorJson(id, kInternalError, error.what());
  }
}

McpServer::Outcome McpServer::Dispatch(const std::string& method, const Json& parameters) const {
  if (method == "initialize") {
    if (!parameters.value("protocolVersion", Json()).is_string())
      return {.result = {}, .errors = {{kInvalidParams, "initialize needs 'protocolVersion'"}}};
    return {.result = Initialize(parameters), .errors = {}};
  }
  if (method == "ping") return {.result = Json::object(), .errors = {}};
  if (method == "tools/list") return {.result = ListTools(), .errors = {}};
  if (method == "tools/call") return CallTool(parameters);
  return {.result = {}, .errors = {{kMethodNotFound, "no method '" + method + "'"}}};
}

Json McpServer::Initialize(const Json& parameters) const {
  const auto wanted = parameters["protocolVersion"].get<std::string>();
  const bool is_known = std::ranges::find(kProtocolVersions, wanted) != std::end(kProtocolVersions);
  return {{"protocolVersion", is_known ? wanted : kProtocolVersions[0]},
          {"capabilities", {{"tools", Json::object()}}},
          {"serverInfo", {{"name", "lagwatch"}, {"version", version_}}},
          {"instructions", instructions_}};
}

Json McpServer::ListTools() const {
  Json tools = Json::array();
  for (const McpTool& tool : tools_)
    tools.push_back({{"name", tool.name},
                     {"title", tool.title},
                     {"description", tool.description},
                     {"inputSchema", SchemaOf(tool)},
                     {"annotations", {{"readOnlyHint", true}, {"openWorldHint", false}}}});
  return {{"tools", std::move(tools)}};
}

McpServer::Outcome McpServer::CallTool(const Json& parameters) const {
  const Json name = parameters.value("name", Json());
  if (!name.is_string()) return {.result = {}, .errors = {{kInvalidParams, "tools/call needs 'name'"}}};
  const auto tool = std::ranges::find_if(tools_, [&](const McpTool& each) { return name == each.name; });
  if (tool == tools_.end()) {
    std::string names;
    for (const McpTool& each : tools_) names += (names.empty() ? "" : ", ") + std::string(each.name);
    return {.result = {},
            .errors = {{kInvalidParams, "no tool '" + name.get<std::string>() + "'; there are: " + names}}};
  }
  const Json arguments = parameters.value("arguments", Json::object());
  if (std::string problem = CheckArguments(*tool, arguments); !problem.empty())
    return {.result = {}, .errors = {{kInvalidParams, std::move(problem)}}};
  const auto answer = tool->call(arguments);
  return {.result = answer.ok() ? TextResult(*answer, false) : TextResult(answer.status().message(), true),
          .errors = {}};
}

}  // namespace lagwatch::tools
