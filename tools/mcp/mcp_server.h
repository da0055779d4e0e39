// SPDX-License-Identifier: Apache-2.0
// A server of the Model Context Protocol (modelcontextprotocol.io) that has tools and nothing else: messages
// of JSON-RPC 2.0, one a line. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tools/read/endpoint.h"

namespace lagwatch::tools {

struct McpArgument {
  enum class ArgumentType : uint8_t { kText, kCount };

  const char* name;
  ArgumentType type;
  bool is_required;
  const char* description;
  // Of a kCount.
  int64_t least = 0;
  int64_t most = 0;
};

struct McpTool {
  const char* name;
  const char* title;
  const char* description;
  std::vector<McpArgument> arguments;
  // Returns the answer's text. `arguments` is an object that has those above, of their types, and no others.
  // An error is an answer, too: it says what to do next.
  std::function<base::Result<std::string>(const Json& arguments)> call;
};

// The longest line that is read, in bytes.
inline constexpr size_t kMaxMcpLineBytes = 4 << 20;

class McpServer {
 public:
  McpServer(std::vector<McpTool> tools, std::string version, std::string instructions)
      : tools_(std::move(tools)), version_(std::move(version)), instructions_(std::move(instructions)) {}

  // Answers a line, which may be anything; empty: nothing is answered. The answer has no line's end.
  std::string Answer(std::string_view line) const;

 private:
  struct RpcError {
    int code;
    std::string message;
  };
  // A result, or an error.
  struct Outcome {
    Json result = {};
    std::vector<RpcError> errors = {};  // one at most
  };

  // Null: a notification.
  Json AnswerMessage(const Json& message) const;
  Outcome Dispatch(const std::string& method, const Json& parameters) const;
  Json Initialize(const Json& parameters) const;
  Json ListTools() const;
  Outcome CallTool(const Json& parameters) const;

  std::vector<McpTool> tools_;
  std::string version_;
  std::string instructions_;
};

}  // namespace lagwatch::tools
