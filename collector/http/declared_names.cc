// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "collector/http/endpoints.h"
#include "collector/query/json/json_text.h"
#include "collector/query/openapi.h"

namespace lagwatch::collector {
namespace {

// Returns the part that a "$ref" such as "#/components/parameters/app" names.
const Json& Resolve(const Json& document, const Json& part) {
  const auto reference = part.find("$ref");
  if (reference == part.end()) return part;
  return document.at(Json::json_pointer(reference->get<std::string>().substr(1)));
}

KnownNames ParametersOf(const Json& document, const Json& operation) {
  KnownNames names;
  for (const Json& each : operation.value("parameters", Json::array())) {
    const Json& parameter = Resolve(document, each);
    if (parameter.at("in") == "query") names.push_back(parameter.at("name"));
  }
  return names;
}

// None for a body that is no object, or may have other fields.
std::optional<KnownNames> FieldsOf(const Json& document, const Json& operation) {
  const Json::json_pointer place("/requestBody/content/application~1json/schema");
  if (!operation.contains(place)) return std::nullopt;
  const Json& schema = Resolve(document, operation.at(place));
  if (schema.value("additionalProperties", Json(true)) != Json(false)) return std::nullopt;
  KnownNames names;
  for (const auto& [name, value] : schema.at("properties").items()) names.push_back(name);
  return names;
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower;
}

}  // namespace

void DeclareNames(std::vector<Endpoint>* endpoints) {
  const Json document = Json::parse(OpenApiText());
  for (Endpoint& endpoint : *endpoints) {
    if (endpoint.is_for_programs) continue;
    const auto path = document.at("paths").find(std::string(endpoint.path));
    if (path == document.at("paths").end()) continue;
    const auto operation = path->find(LowerCase(endpoint.method));
    if (operation == path->end()) continue;
    endpoint.parameters = ParametersOf(document, *operation);
    endpoint.fields = FieldsOf(document, *operation);
  }
}

}  // namespace lagwatch::collector
