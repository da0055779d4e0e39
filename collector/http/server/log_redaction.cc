// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/log_redaction.h"

#include <algorithm>
#include <utility>

namespace lagwatch::collector {
namespace {

constexpr std::string_view kGone = "[redacted]";
constexpr size_t kLeastSecretBytes = 4;
constexpr size_t kLeastKeyDigits = 16;  // of the 32 that a key has: a part is none of the log's, too

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

bool IsWord(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The end of a key of this collector's kind (k_0123…) that begins at `at`; `at` if there is none.
size_t EndOfKey(std::string_view line, size_t at) {
  const bool begins = line.size() > at + 2 &&
                      std::string_view("kra").find(line[at]) != std::string_view::npos &&
                      line[at + 1] == '_' && (at == 0 || !IsWord(line[at - 1]));
  if (!begins) return at;
  const auto* end = std::find_if_not(line.begin() + static_cast<ptrdiff_t>(at) + 2, line.end(), IsHexDigit);
  const auto length = static_cast<size_t>(end - line.begin()) - at;
  return length >= kLeastKeyDigits + 2 ? at + length : at;
}

void RedactKeys(std::string* line) {
  for (size_t at = 0; at < line->size(); ++at) {
    const size_t end = EndOfKey(*line, at);
    if (end > at) line->replace(at, end - at, kGone);
  }
}

// The part of `line` after each `mark`, up to one of `ends`, if `is_secret` finds it to be one.
template <typename IsSecret>
void RedactAfter(std::string_view mark, std::string_view ends, IsSecret is_secret, std::string* line) {
  for (size_t at = line->find(mark); at != std::string::npos; at = line->find(mark, at)) {
    at += mark.size();
    const size_t end = std::min(line->find_first_of(ends, at), line->size());
    const size_t length = is_secret(std::string_view(*line).substr(at, end - at));
    if (length > 0) line->replace(at, length, kGone);
  }
}

}  // namespace

std::string Redacted(std::string_view text, const std::vector<std::string>& secrets) {
  std::string line(text);
  for (const std::string& secret : secrets) {
    if (secret.size() < kLeastSecretBytes) continue;
    for (size_t at = line.find(secret); at != std::string::npos; at = line.find(secret, at + kGone.size()))
      line.replace(at, secret.size(), kGone);
  }
  RedactKeys(&line);
  const auto before_at = [](std::string_view authority) {
    const size_t at = authority.rfind('@');
    return at == std::string_view::npos ? 0 : at;
  };
  RedactAfter("://", "/ \t\n\"'<>", before_at, &line);
  RedactAfter("%3A%2F%2F", "/ \t\n\"'<>", before_at, &line);
  RedactAfter(
      "sentry_key=", "& \t\n\"',", [](std::string_view value) { return value.size(); }, &line);
  return line;
}

namespace {

class RedactingFormatter final : public spdlog::formatter {
 public:
  RedactingFormatter(std::unique_ptr<spdlog::formatter> inner, std::vector<std::string> secrets)
      : inner_(std::move(inner)), secrets_(std::move(secrets)) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    spdlog::memory_buf_t raw;
    inner_->format(message, raw);
    const std::string redacted = Redacted({raw.data(), raw.size()}, secrets_);
    line.append(redacted.data(), redacted.data() + redacted.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return CreateRedactingFormatter(inner_->clone(), secrets_);
  }

 private:
  const std::unique_ptr<spdlog::formatter> inner_;
  const std::vector<std::string> secrets_;
};

}  // namespace

std::unique_ptr<spdlog::formatter> CreateRedactingFormatter(std::unique_ptr<spdlog::formatter> inner,
                                                            std::vector<std::string> secrets) {
  return std::make_unique<RedactingFormatter>(std::move(inner), std::move(secrets));
}

}  // namespace lagwatch::collector
