// SPDX-License-Identifier: Apache-2.0
#include "collector/log_format.h"

#include <spdlog/formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <utility>

#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

std::string TimeText(spdlog::log_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[64];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  std::snprintf(text + size, sizeof text - size, ".%03dZ", static_cast<int>(ms % 1000));
  return text;
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const auto level = spdlog::level::to_string_view(message.level);
    const std::string text =
        JsonText({{"time", TimeText(message.time)},
                  {"level", std::string(level.data(), level.size())},
                  {"message", std::string(message.payload.data(), message.payload.size())}}) +
        "\n";
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

}  // namespace

void SetUpLog(LogFormat format) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("collector", std::move(sink));
  if (format == LogFormat::kJson) logger->set_formatter(std::make_unique<JsonFormatter>());
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace lagwatch::collector
