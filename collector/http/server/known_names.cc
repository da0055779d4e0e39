// SPDX-License-Identifier: Apache-2.0
#include "collector/http/server/known_names.h"

#include <algorithm>
#include <numeric>

#include "collector/query/json/json_text.h"
#include "collector/query/query_string.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMostNameBytes = 64;  // of a name that is compared, or shown

// Characters to insert, remove, replace or swap (optimal string alignment).
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i);
    for (size_t k = 1; k <= b.size(); ++k) {
      row[k] = std::min({row[k - 1] + 1, last[k] + 1, last[k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1)});
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
        row[k] = std::min(row[k], before_last[k - 2] + 1);
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last.back();
}

Response Refuse(const char* kind, std::string_view name, const KnownNames& known) {
  std::string text =
      std::string(kind) + " " + JsonText(std::string(name.substr(0, kMostNameBytes))) + " is not known here";
  if (const std::string nearest = NearestName(name, known); !nearest.empty()) {
    text += "; do you mean " + JsonText(nearest) + "?";
  } else if (known.empty()) {
    text += "; there are none";
  } else {
    text += "; known are ";
    for (const std::string& each : known) text += (&each == &known.front() ? "" : ", ") + each;
  }
  return ErrorResponse(400, "invalid", text);
}

}  // namespace

std::string NearestName(std::string_view name, const KnownNames& known) {
  if (name.size() > kMostNameBytes) return {};
  std::string nearest;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& each : known) {
    // A beginning, as "distro" of "distribution", is likely as well.
    const bool is_beginning = name.size() >= 3 && each.starts_with(name);
    const size_t distance = is_beginning ? 1 : Distance(name, each);
    if (distance >= least) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

std::optional<Response> RefuseUnknownParameters(std::string_view query_text, const KnownNames& known) {
  if (query_text.empty()) return std::nullopt;
  const auto query = QueryString::Parse(query_text);
  if (!query.ok()) return std::nullopt;
  for (const std::string& name : query->Names()) {
    if (std::ranges::find(known, name) == known.end()) return Refuse("the parameter", name, known);
  }
  return std::nullopt;
}

std::optional<Response> RefuseUnknownFields(std::string_view body, const KnownNames& known) {
  const Json json = ParseJson(body);
  if (!json.is_object()) return std::nullopt;
  for (const auto& [name, value] : json.items()) {
    if (std::ranges::find(known, name) == known.end()) return Refuse("the field", name, known);
  }
  return std::nullopt;
}

}  // namespace lagwatch::collector
