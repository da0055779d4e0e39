// SPDX-License-Identifier: Apache-2.0
// collector/openapi.json and the tables of collector/API.md.
#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/schema/documents.h"
#include "tools/schema/openapi.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kJsonColumns = 120;

// JSON with what fits on a line on one; `width` is that of what stands before it there.
std::string Pretty(const Json& json, size_t indent, size_t width) {
  std::string line = json.dump();
  if (!json.is_structured() || json.empty()) return line;
  // With spaces behind commas and colons.
  std::string spaced = json.is_object() ? "{" : "[";
  std::string spread = spaced + "\n";
  for (const auto& [key, value] : json.items()) {
    const std::string name = json.is_object() ? Json(key).dump() + ": " : "";
    const std::string text = Pretty(value, indent + 1, indent + 1 + name.size());
    const bool is_last = &value == &json.back();
    spaced += name + text + (is_last ? "" : ", ");
    spread += std::string(indent + 1, ' ') + name + text + (is_last ? "\n" : ",\n");
  }
  spaced += json.is_object() ? '}' : ']';
  const bool fits = spaced.find('\n') == std::string::npos && width + spaced.size() < kJsonColumns;
  return fits ? spaced : spread + std::string(indent, ' ') + (json.is_object() ? '}' : ']');
}

// The names of the filters that many questions have, which the page calls FILTER.
constexpr std::array<const char*, 9> kFilters = {"app", "version", "kind",    "verdict", "loop",
                                                 "os",  "user",    "from_ms", "to_ms"};

std::string Refers(const Json& parameter) {
  const std::string reference = parameter.value("$ref", "");
  return reference.substr(reference.rfind('/') + 1);
}

// "?FILTER&limit=100&before="
std::string QueryOf(const Json& document, const Json& operation) {
  const Json parameters = operation.value("parameters", Json::array());
  const auto has = [&](const char* name) {
    return std::ranges::any_of(parameters, [&](const Json& each) { return Refers(each) == name; });
  };
  const bool is_filtered = std::ranges::all_of(kFilters, has);
  std::vector<std::string> parts;
  for (const Json& each : parameters) {
    const std::string name = Refers(each);
    const Json& parameter = name.empty() ? each : document.at("components").at("parameters").at(name);
    if (parameter.at("in") != "query" || name == "format") continue;
    const bool is_filter = std::ranges::find(kFilters, name) != kFilters.end();
    if (is_filtered && is_filter) {
      if (name == kFilters.front()) parts.emplace_back("FILTER");
      continue;
    }
    const Json standard = parameter.at("schema").value("default", Json());
    const std::string value = standard.is_null()     ? ""
                              : standard.is_string() ? standard.get<std::string>()
                                                     : standard.dump();
    parts.push_back(parameter.at("name").get<std::string>() + "=" + value);
  }
  std::string query;
  for (const std::string& part : parts) query += (query.empty() ? "?" : "&") + part;
  return query;
}

std::string RequestTable(const Json& source, const Json& document) {
  std::string table = "\n| Request | Answer |\n|---|---|\n";
  for (const auto& [path, methods] : source.at("paths").items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string name = method;
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
      table += "| `" + name + " " + path + QueryOf(document, document.at("paths").at(path).at(method)) +
               "` | " + operation.at("page").get<std::string>() + " |\n";
    }
  }
  return table + "\n";
}

class Shapes {
 public:
  explicit Shapes(const Json& document) : named_(document.at("components").at("schemas")) {}

  // The members of a schema: "| `key` | type | description |" each, those of objects within as `outer.inner`.
  std::string Table(const std::string& name) const {
    std::string rows = "\n| Key | Value | |\n|---|---|---|\n";
    AddMembers(named_.at(name), "", &rows);
    return rows + "\n";
  }

 private:
  void AddMembers(const Json& schema, const std::string& prefix, std::string* rows) const {
    const Json required = schema.value("required", Json::array());
    for (const auto& [key, member] : schema.at("properties").items()) {
      const bool is_optional = std::ranges::find(required, Json(key)) == required.end();
      std::string description = member.value("description", "");
      if (is_optional) description += description.empty() ? "may be missing" : "; may be missing";
      *rows += "| `" + prefix + key + "` | " + TypeOf(member) + " | " + description + " |\n";
      const bool is_list = member.contains("items");
      const Json& inner = is_list                    ? member["items"]
                          : member.contains("anyOf") ? member["anyOf"].front()
                                                     : member;
      if (inner.contains("properties")) AddMembers(inner, prefix + key + (is_list ? "[]." : "."), rows);
    }
  }

  std::string TypeOf(const Json& schema) const {
    if (schema.contains("$ref")) {
      const auto reference = schema["$ref"].get<std::string>();
      return "`" + reference.substr(reference.rfind('/') + 1) + "`";
    }
    if (schema.contains("items")) return "array of " + TypeOf(schema["items"]);
    if (schema.contains("anyOf"))
      return Choices(schema["anyOf"], [this](const Json& each) { return TypeOf(each); });
    if (schema.contains("enum"))
      return Choices(schema["enum"], [](const Json& each) {
        return each.is_string() ? "`" + each.get<std::string>() + "`" : each.dump();
      });
    const Json type = schema.value("type", Json("any"));
    return type.is_string() ? Named(type, schema)
                            : Choices(type, [&](const Json& each) { return Named(each, schema); });
  }

  static std::string Named(const Json& type, const Json& schema) {
    if (type == "string" && schema.value("pattern", "").size() > 20) return "id";
    if (type == "string" && schema.contains("pattern")) return "16 hex digits";
    return type == "string" ? "text" : type.get<std::string>();
  }

  template <typename Text>
  static std::string Choices(const Json& choices, Text text) {
    std::string list;
    for (const Json& each : choices) list += (list.empty() ? "" : ", ") + text(each);
    return list;
  }

  const Json& named_;
};

std::string ValueTable(const std::string& name) {
  std::string rows = "\n| Value | |\n|---|---|\n";
  for (const EnumValue& value : EnumOf(name).values)
    rows += "| `" + value.name + "` | " + value.help + " |\n";
  return rows + "\n";
}

// Each place "<!-- WHAT NAME -->" … "<!-- end of WHAT -->" gets what `table` makes of the name.
template <typename Table>
void FillPlaces(const std::string& what, Table table, std::string* page) {
  const std::string begin = "<!-- " + what + " ";
  for (size_t at = 0; (at = page->find(begin, at)) != std::string::npos; ++at) {
    const std::string name = page->substr(at + begin.size(), page->find(" -->", at) - at - begin.size());
    *page = WithPart(*page, begin + name + " -->\n", "<!-- end of " + what + " -->", table(name));
  }
}

std::string ApiPage(const std::string& before, const Json& source) {
  const Json document = OpenApiDocument(source);
  std::string page =
      WithPart(before, "<!-- requests -->\n", "<!-- end of requests -->", RequestTable(source, document));
  FillPlaces(
      "shape", [shapes = Shapes(document)](const std::string& name) { return shapes.Table(name); }, &page);
  FillPlaces("values", ValueTable, &page);
  return page;
}

}  // namespace

std::vector<Document> ApiDocuments(const std::string& repository) {
  constexpr const char* kSource = "collector/openapi_source.json";
  std::ifstream file(repository + "/" + kSource);
  const auto source = Json::parse(file);
  return {
      {"collector/openapi.json", kSource,
       [source](const std::string&) { return Pretty(OpenApiDocument(source), 0, 0) + "\n"; }},
      {"collector/API.md", kSource, [source](const std::string& before) { return ApiPage(before, source); }}};
}

}  // namespace lagwatch::tools
