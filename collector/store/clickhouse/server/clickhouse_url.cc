// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/server/clickhouse_url.h"

#include <algorithm>
#include <cctype>

#include "base/curl_handle.h"
#include "base/text.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kDefaultPort = ":8123";

// It stands between backquotes and in the paths of ZooKeeper.
bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

Status Invalid(const std::string& what) { return {StatusCode::kInvalid, "a ClickHouse's URL " + what}; }

std::string PercentDecoded(std::string_view text) {
  if (text.empty()) return {};
  int size = 0;
  const base::CurlText decoded(
      curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &size));
  return decoded ? std::string(decoded.get(), static_cast<size_t>(size)) : std::string();
}

Status ParseNodes(std::string_view text, ClickHouseUrl* url) {
  while (!text.empty()) {
    const std::string_view node = base::TakeUntil(',', &text);
    if (node.empty()) return Invalid("has a node without a name");
    const bool has_port =
        node.find(':', node.starts_with('[') ? node.find(']') : 0) != std::string_view::npos;
    url->nodes.push_back(std::string(node).append(has_port ? "" : kDefaultPort));
  }
  return url->nodes.empty() ? Invalid("names no node") : Status();
}

}  // namespace

base::Result<ClickHouseUrl> ClickHouseUrl::Parse(std::string_view text) {
  if (!text.starts_with(kClickHouseScheme)) return Invalid("begins with " + std::string(kClickHouseScheme));
  text.remove_prefix(kClickHouseScheme.size());
  ClickHouseUrl url;
  std::string_view parameters = text;
  std::string_view path = base::TakeUntil('?', &parameters);
  std::string_view authority = base::TakeUntil('/', &path);
  if (const size_t at = authority.rfind('@'); at != std::string_view::npos) {
    std::string_view password = authority.substr(0, at);
    url.user = PercentDecoded(base::TakeUntil(':', &password));
    url.password = PercentDecoded(password);
    authority.remove_prefix(at + 1);
  }
  if (Status status = ParseNodes(authority, &url); !status.ok()) return status;
  if (!path.empty()) url.database = path;
  constexpr std::string_view kCluster = "cluster=";
  if (parameters.starts_with(kCluster)) {
    url.cluster = parameters.substr(kCluster.size());
    if (!IsName(url.cluster)) return Invalid("has a cluster of other than letters, digits, '_' and '-'");
  } else if (!parameters.empty()) {
    return Invalid("has a parameter other than 'cluster'");
  }
  if (!IsName(url.database)) return Invalid("has a database of other than letters, digits, '_' and '-'");
  return url;
}

}  // namespace lagwatch::collector
