// SPDX-License-Identifier: Apache-2.0
#include "bench/clusters/causes.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "base/process/env.h"

namespace lagwatch::clusters {
namespace {

using base::Result;
using base::Status;

Status Wrong(const std::string& file, int line, const std::string& what) {
  return {base::StatusCode::kInvalid, file + ", line " + std::to_string(line) + ": " + what};
}

// Takes `mark` and the number after it off the end of `text`; 0 when there is none.
int TakeNumber(char mark, std::string* text) {
  size_t at = text->rfind(mark);
  if (at == std::string::npos || at == 0 ||
      text->find_first_not_of("0123456789", at + 1) != std::string::npos)
    return 0;
  int number = std::atoi(text->c_str() + at + 1);
  text->resize(at);
  return number;
}

Function ParseFunction(std::string text) {
  Function function;
  if (text.ends_with('~')) {
    function.is_small = true;
    text.pop_back();
  }
  if (int depth = TakeNumber('*', &text)) function.depth = depth;
  function.lambda = TakeNumber('#', &text);
  function.is_rust = text.starts_with("rust:");
  size_t colon = text.find(':');
  if (colon != std::string::npos && text.compare(colon, 2, "::") != 0) {
    if (!function.is_rust) function.module = text.substr(0, colon);
    text.erase(0, colon + 1);
  }
  function.name = text;
  return function;
}

class CauseParser {
 public:
  explicit CauseParser(std::string file) : file_(std::move(file)) {}

  Result<std::vector<Cause>> Parse(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_number_;
      if (line.empty() || line.front() == '#') continue;
      if (Status parsed = ParseLine(line); !parsed.ok()) return parsed;
    }
    return std::move(causes_);
  }

 private:
  Status ParseLine(const std::string& line) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "base") return ParseBase(&words);
    if (word == "cause") return ParseCause(&words);
    if (causes_.empty()) return Wrong(file_, line_number_, "stands before the first cause");
    Cause& cause = causes_.back();
    bool is_owner = word.starts_with("owner");
    Place& place = is_owner ? cause.owner : cause.place;
    if (is_owner) word = word == "owner" ? "path" : word.substr(5);
    if (word == "path") {
      place.paths.push_back(ParsePath(&words));
      return {};
    }
    Ending ending;
    words >> ending.weight;
    if (word == "tail") {
      words >> ending.library;
    } else if (word == "leaf") {
      ending.path = ParsePath(&words);
    } else {
      return Wrong(file_, line_number_, "no such word: " + word);
    }
    place.endings.push_back(std::move(ending));
    return {};
  }

  Status ParseBase(std::istream* words) {
    std::string name, equals;
    *words >> name >> equals;
    bases_[name] = ParsePath(words);
    return {};
  }

  Status ParseCause(std::istream* words) {
    Cause cause;
    std::string verdict;
    *words >> cause.name >> verdict;
#define VERDICT_WORD(number, enumerator, name, ...) \
  if (verdict == name) cause.verdict = policies::VerdictWord::enumerator;
#include "policies/verdict.def"
    if (cause.verdict == policies::VerdictWord::kUnknown)
      return Wrong(file_, line_number_, "no such verdict: " + verdict);
    causes_.push_back(std::move(cause));
    return {};
  }

  Path ParsePath(std::istream* words) const {
    std::string text;
    std::getline(*words, text);
    Path path;
    for (size_t at = 0; at < text.size();) {
      size_t end = std::min(text.find(" > ", at), text.size());
      std::string part = text.substr(at, end - at);
      at = end + 3;
      part.erase(0, part.find_first_not_of(' '));
      if (auto base = bases_.find(part); base != bases_.end()) {
        path.insert(path.end(), base->second.begin(), base->second.end());
      } else if (!part.empty()) {
        path.push_back(ParseFunction(part));
      }
    }
    return path;
  }

  std::string file_;
  int line_number_ = 0;
  std::map<std::string, Path> bases_;
  std::vector<Cause> causes_;
};

}  // namespace

Result<std::vector<Cause>> ReadCauses(const std::string& file) {
  std::string text;
  if (int error = base::SystemEnv().ReadAll(file, &text)) return base::IoError("cannot read " + file, error);
  return CauseParser(file).Parse(text);
}

Result<Tails> Tails::Read(const std::string& file) {
  std::string text;
  if (int error = base::SystemEnv().ReadAll(file, &text)) return base::IoError("cannot read " + file, error);
  Tails tails;
  Symbols symbols;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, library, flavour;
    words >> word >> library;
    if (word == "symbol") symbols.push_back(library);
    if (word != "tail") continue;
    words >> flavour;
    Symbols& tail = tails.tails_[{library, flavour}].emplace_back();
    for (size_t number; words >> number;) tail.push_back(symbols.at(number));
  }
  return tails;
}

const std::vector<Tails::Symbols>& Tails::Of(const std::string& library, const std::string& flavour) const {
  auto found = tails_.find({library, flavour});
  if (found == tails_.end()) found = tails_.find({library, "any"});
  if (found == tails_.end()) {
    std::fprintf(stderr, "tails.txt has no tail %s for %s\n", library.c_str(), flavour.c_str());
    std::exit(1);
  }
  return found->second;
}

}  // namespace lagwatch::clusters
