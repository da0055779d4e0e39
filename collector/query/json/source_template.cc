// SPDX-License-Identifier: Apache-2.0
#include "collector/query/json/source_template.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lagwatch::collector {
namespace {

constexpr std::string_view kVersion = "{version}";

Status Wrong(const std::string& why) { return {StatusCode::kInvalid, "the address of sources " + why}; }

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

std::string Escaped(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr unsigned kLow = 15;
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsUnreserved(c)) {
      escaped += c;
    } else {
      escaped += {'%', kDigits[byte >> 4], kDigits[byte & kLow]};
    }
  }
  return escaped;
}

// Only known names stand in braces.
Status CheckBraces(std::string_view text) {
  constexpr std::array<std::string_view, 3> kNames = {kVersion, "{file}", "{line}"};
  for (size_t at = text.find_first_of("{}"); at != std::string_view::npos;
       at = text.find_first_of("{}", at)) {
    const auto name =
        std::ranges::find_if(kNames, [&](auto each) { return text.substr(at).starts_with(each); });
    if (name == kNames.end()) return Wrong("may have {version}, {file} and {line}, and no other braces");
    at += name->size();
  }
  if (text.find("{file}") == std::string_view::npos)
    return Wrong("needs {file}, such as https://example.com/editor/blob/{version}/{file}#L{line}");
  return {};
}

// The parts of "APP=TEXT".
std::optional<std::pair<std::string, std::string>> PartsOf(const std::string& text) {
  const size_t mark = text.find('=');
  if (mark == std::string::npos || mark == 0) return std::nullopt;
  return std::pair(text.substr(0, mark), text.substr(mark + 1));
}

}  // namespace

base::Result<SourceTemplate> SourceTemplate::Parse(std::string url, std::string root) {
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return Wrong("must begin with https:// or http://");
  }
  if (url.size() > kMostBytes || root.size() > kMostBytes)
    return Wrong("has at most " + std::to_string(kMostBytes) + " bytes, and so has its root");
  constexpr std::string_view kUnfit = "\"'<>\\^`|";
  const bool is_plain = std::ranges::all_of(
      url, [&](char c) { return c > ' ' && c < '\x7f' && kUnfit.find(c) == std::string_view::npos; });
  if (!is_plain)
    return Wrong("may have no spaces, quotes, angle brackets or other characters that addresses escape");
  // A version or a file must not choose the host.
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty() || host.size() == rest.size() || host.find_first_of("{}@") != std::string_view::npos)
    return Wrong("needs a fixed host before its path, without a user's name");
  if (Status status = CheckBraces(rest); !status.ok()) return status;
  if (!root.empty() && root.front() != '/') return Wrong("has a root that is no absolute directory");
  if (!root.empty() && root.back() != '/') root += '/';
  return SourceTemplate(std::move(url), std::move(root));
}

Json SourceTemplate::ToJson(std::string_view version) const {
  std::string url = url_;
  const std::string escaped = Escaped(version);
  for (size_t at = url.find(kVersion); at != std::string::npos; at = url.find(kVersion, at + escaped.size()))
    url.replace(at, kVersion.size(), escaped);
  return {{"url", url}, {"root", root_}};
}

Json SourceJson(const SourceLookup& sources, std::string_view app, std::string_view version) {
  if (!sources) return {};
  const auto source = sources(app);
  return source ? source->ToJson(version) : Json();
}

base::Result<SourceTemplates> ParseSources(const std::vector<std::string>& urls,
                                           const std::vector<std::string>& roots) {
  std::map<std::string, std::string> root_of;
  for (const std::string& text : roots) {
    const auto parts = PartsOf(text);
    if (!parts || parts->second.empty() || !root_of.insert(*parts).second)
      return Status(StatusCode::kInvalid, "--source-root '" + text + "': give it once as APP=DIRECTORY");
  }
  SourceTemplates sources;
  for (const std::string& text : urls) {
    const auto parts = PartsOf(text);
    if (!parts) return Status(StatusCode::kInvalid, "--source '" + text + "': give it as APP=URL");
    auto root = root_of.extract(parts->first);
    auto source = SourceTemplate::Parse(parts->second, root.empty() ? "" : std::move(root.mapped()));
    if (!source.ok())
      return Status(StatusCode::kInvalid, "--source '" + text + "': " + source.status().message());
    if (!sources.emplace(parts->first, std::move(*source)).second)
      return Status(StatusCode::kInvalid, "--source '" + text + "': the program has an address already");
  }
  if (!root_of.empty())
    return Status(StatusCode::kInvalid,
                  "--source-root '" + root_of.begin()->first + "=…': the program needs a --source, too");
  return sources;
}

}  // namespace lagwatch::collector
