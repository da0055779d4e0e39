// SPDX-License-Identifier: Apache-2.0
// The address of a program's sources, into which readers put a frame's file and line. Context: background;
// pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {

class SourceTemplate {
 public:
  // `url` has {file} once at least, and may have {version} and {line}:
  // https://host/o/r/blob/{version}/{file}#L{line}. `root` is the directory of the build that the files'
  // paths begin with; empty: only relative paths have an address. Errors: kInvalid unless it is an address
  // with https or http, whose host is fixed, of at most kMostBytes printable characters; the message names
  // the mistake.
  static base::Result<SourceTemplate> Parse(std::string url, std::string root);

  // {"url", "root"}: with the version put in, file and line left.
  Json ToJson(std::string_view version) const;

  bool operator==(const SourceTemplate&) const = default;

 private:
  static constexpr size_t kMostBytes = 1000;

  SourceTemplate(std::string url, std::string root) : url_(std::move(url)), root_(std::move(root)) {}

  std::string url_;
  std::string root_;  // ends with a slash, or is empty
};

// By program.
using SourceTemplates = std::map<std::string, SourceTemplate, std::less<>>;
// The program's, or nothing.
using SourceLookup = std::function<std::optional<SourceTemplate>(std::string_view app)>;

// {"url", "root"} for reports of that program and version; null without a lookup or an address.
Json SourceJson(const SourceLookup& sources, std::string_view app, std::string_view version);

// From "APP=URL" and "APP=DIRECTORY" of a command line. Errors: kInvalid, with the flag's name.
base::Result<SourceTemplates> ParseSources(const std::vector<std::string>& urls,
                                           const std::vector<std::string>& roots);

}  // namespace lagwatch::collector
