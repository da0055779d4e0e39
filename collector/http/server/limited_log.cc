// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/limited_log.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

namespace {

thread_local const LogFacts* line_facts = nullptr;

}  // namespace

const LogFacts* LogFacts::OfThisLine() { return line_facts; }

LimitedLog::LimitedLog() : lines_(kBurst, kLinesPerS, base::SystemClock().MonoNs()) {}

uint64_t LimitedLog::left_out() const {
  std::lock_guard lock(mutex_);
  return left_out_;
}

void LimitedLog::Write(bool is_warning, const std::string& line, const LogFacts& facts) {
  uint64_t left_out = 0;
  {
    std::lock_guard lock(mutex_);
    const int64_t now_ns = base::SystemClock().MonoNs();
    if (lines_.WaitS(1, now_ns) > 0) {
      ++left_out_;
      return;
    }
    lines_.Use(1, now_ns);
    left_out = std::exchange(left_out_, 0);
  }
  const auto level = is_warning ? spdlog::level::warn : spdlog::level::info;
  if (left_out > 0) spdlog::log(level, "{} lines such as the next were left out", left_out);
  line_facts = &facts;
  spdlog::log(level, "{}", line);  // on this thread
  line_facts = nullptr;
}

// The query's mark may be escaped where it is in the wrong place.
std::string TargetForLog(std::string_view target) {
  size_t end = target.find_first_of("?&;#");
  for (std::string_view mark : {"%3f", "%3F", "%26", "%3b", "%3B", "sentry"})
    end = std::min(end, target.find(mark));
  return end >= target.size() ? std::string(target) : std::string(target.substr(0, end)) + "?…";
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMaxBytes = 200;
  return JsonText(text.size() <= kMaxBytes ? std::string(text)
                                           : std::string(text.substr(0, kMaxBytes)) + "…");
}

}  // namespace lagwatch::collector
