// SPDX-License-Identifier: Apache-2.0
#include "tools/schema/openapi.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "policies/verdict.h"

namespace lagwatch::tools {
namespace {

constexpr char kUuid[] = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

const std::map<std::string, Json, std::less<>>& SimpleTypes() {
  static const std::map<std::string, Json, std::less<>> kTypes = {
      {"text", {{"type", "string"}}},
      {"bool", {{"type", "boolean"}}},
      {"count", {{"type", "integer"}, {"minimum", 0}}},
      {"integer", {{"type", "integer"}}},
      {"number", {{"type", "number"}}},
      {"ms", {{"type", "number"}, {"description", "Milliseconds"}}},
      {"time_ms", {{"type", "integer"}, {"minimum", 0}, {"description", "Milliseconds since 1970 UTC"}}},
      {"id", {{"type", "string"}, {"pattern", kUuid}}},
      {"key", {{"type", "string"}, {"pattern", "^[0-9a-f]{16}$"}}},
      {"object", {{"type", "object"}}}};
  return kTypes;
}

// The values of an enumeration, the unknown one last.
Json ValuesOf(const std::string& name) {
  Json values = Json::array();
  if (name == "VerdictWord") {
#define VERDICT_WORD(number, enumerator, word, ...) values.push_back(word);
#include "policies/verdict.def"
    return values;
  }
  const std::vector<EnumValue>& rows = EnumOf(name).values;
  for (const EnumValue& value : rows)
    if (value.name != "unknown") values.push_back(value.name);
  if (rows.front().name == "unknown") values.push_back("unknown");
  return values;
}

Json OrNull(Json schema) {
  if (!schema.contains("type")) return {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
  schema["type"] = {schema["type"], "null"};
  return schema;
}

void Describe(const std::string& description, Json* schema) {
  if (description.empty()) return;
  const std::string unit = schema->value("description", "");
  (*schema)["description"] = unit.empty() ? description : unit + "; " + description;
  if (description.starts_with("Deprecated")) (*schema)["deprecated"] = true;
}

// "Name?" as a name and whether it may be missing.
std::pair<std::string, bool> Name(const std::string& key) {
  const bool is_optional = key.ends_with('?');
  return {key.substr(0, key.size() - (is_optional ? 1 : 0)), is_optional};
}

bool HasFields(const Json& notation) {
  return notation.is_object() && (notation.contains("fields") || notation.contains("extends") ||
                                  notation.contains("columns") || notation.contains("table"));
}

class Expander {
 public:
  explicit Expander(const Json& source) : source_(source), named_(source.at("components").at("schemas")) {}

  Json Document() const {
    Json document = source_;
    for (auto& [path, methods] : document["paths"].items())
      for (auto& [method, operation] : methods.items()) operation = Operation(path, operation);
    Json& parameters = document["components"]["parameters"];
    for (auto& [name, parameter] : parameters.items())
      if (!parameter.contains("in")) parameter = Parameter(name, parameter, "query", false);
    Json schemas = Json::object();
    for (const auto& [name, schema] : named_.items())
      if (!name.starts_with('$')) schemas[name] = HasFields(schema) ? Object(schema) : Schema(schema);
    document["components"]["schemas"] = std::move(schemas);
    return document;
  }

 private:
  struct Fields {
    Json all = Json::object();
    std::set<std::string> optional = {};
  };

  Json Type(std::string_view type) const {
    if (type.ends_with('?')) return OrNull(Type(type.substr(0, type.size() - 1)));
    const std::string inside(type.substr(std::min<size_t>(type.size(), 1)));
    if (type.starts_with('[')) return {{"type", "array"}, {"items", Type(type.substr(1, type.size() - 2))}};
    if (type.starts_with('{'))
      return {{"type", "object"}, {"additionalProperties", Type(type.substr(1, type.size() - 2))}};
    if (type.starts_with('@')) return {{"enum", ValuesOf(inside)}};
    if (type.starts_with('=')) {
      Json values = Json::array();
      for (size_t begin = 0, end = 0; end < inside.size(); begin = end + 1) {
        end = std::min(inside.find('|', begin), inside.size());
        values.push_back(inside.substr(begin, end - begin));
      }
      return {{"enum", std::move(values)}};
    }
    if (const auto simple = SimpleTypes().find(type); simple != SimpleTypes().end()) return simple->second;
    if (!named_.contains(type)) throw std::runtime_error("no schema is called " + std::string(type));
    return {{"$ref", "#/components/schemas/" + std::string(type)}};
  }

  Json Schema(const Json& notation) const {
    if (notation.is_array()) return {{"type", "array"}, {"items", Schema(notation.at(0))}};
    if (notation.is_string()) {
      const auto text = notation.get<std::string>();
      const size_t end = text.find(": ");
      Json schema = Type(std::string_view(text).substr(0, end));
      if (end != std::string::npos) Describe(text.substr(end + 2), &schema);
      return schema;
    }
    // A part of a report that has a schema of its own.
    if (const std::string table = notation.value("table", ""); notation.size() == 1 && named_.contains(table))
      return Type(table);
    if (HasFields(notation)) return Object(notation);
    Json schema = notation;
    for (const char* key : {"items", "additionalProperties", "propertyNames"})
      if (schema.contains(key) && !schema[key].is_boolean()) schema[key] = Schema(schema[key]);
    if (schema.contains("anyOf"))
      for (Json& choice : schema["anyOf"]) choice = Schema(choice);
    return schema;
  }

  // A column has the type of what the store returns, the table the meaning.
  static void AdoptDescription(const Json& from, Json* to) {
    if (!from.is_string() || !to->is_string()) return;
    const auto text = from.get<std::string>();
    const size_t end = text.find(": ");
    if (end != std::string::npos && to->get<std::string>().find(": ") == std::string::npos)
      *to = to->get<std::string>() + text.substr(end);
  }

  static void AddRows(const std::vector<FieldRow>& rows, Fields* fields) {
    for (const FieldRow& row : rows) {
      if (row.json.empty() || row.json.find('.') != std::string::npos) continue;
      if (fields->all.contains(row.json)) {
        AdoptDescription(row.schema, &fields->all[row.json]);
        continue;
      }
      const auto [name, is_optional] = Name(row.json);
      fields->all[name] = row.schema;
      if (is_optional) fields->optional.insert(name);
    }
  }

  // Those in objects, into which what is written by hand comes first.
  static void AddInnerRows(const std::vector<FieldRow>& rows, Fields* fields) {
    for (const FieldRow& row : rows) {
      const size_t dot = row.json.find('.');
      if (dot == std::string::npos) continue;
      Json& object = fields->all[row.json.substr(0, dot)];
      if (!object.is_null() && !object.contains("fields")) continue;
      const std::string key = row.json.substr(dot + 1);
      if (!object["fields"].contains(Name(key).first)) object["fields"][key] = row.schema;
    }
  }

  void Collect(const Json& notation, Fields* fields) const {
    if (notation.contains("extends")) Collect(named_.at(notation["extends"].get<std::string>()), fields);
    std::vector<FieldRow> rows;
    if (notation.contains("columns")) rows = ColumnsOf(notation["columns"]);
    if (notation.contains("table"))
      std::ranges::copy(MessageOf(notation["table"]).fields, std::back_inserter(rows));
    AddRows(rows, fields);
    if (notation.contains("fields")) AddNamed(notation["fields"], fields);
    AddInnerRows(rows, fields);
  }

  static void AddNamed(const Json& named, Fields* fields) {
    for (const auto& [key, schema] : named.items()) {
      const auto [name, is_optional] = Name(key);
      fields->all[name] = schema;
      fields->optional.erase(name);
      if (is_optional) fields->optional.insert(name);
    }
  }

  Json Object(const Json& notation) const {
    Fields fields;
    Collect(notation, &fields);
    Json object = {{"type", "object"}};
    Describe(notation.value("description", ""), &object);
    object["properties"] = Json::object();
    object["required"] = Json::array();
    for (const auto& [name, schema] : fields.all.items()) {
      object["properties"][name] = Schema(schema);
      if (!fields.optional.contains(name)) object["required"].push_back(name);
    }
    object["additionalProperties"] = false;
    return notation.value("is_nullable", false) ? OrNull(object) : object;
  }

  Json Parameter(const std::string& name, const Json& notation, const char* in, bool is_required) const {
    Json schema = Schema(notation);
    Json parameter = {{"name", name}, {"in", in}, {"required", is_required}};
    const std::string description = schema.value("description", "");
    schema.erase("description");
    parameter["schema"] = std::move(schema);
    if (!description.empty()) parameter["description"] = description;
    return parameter;
  }

  Json Parameters(const std::string& path, const Json& notation) const {
    Json parameters = Json::array();
    for (const Json& each : notation) {
      if (each.is_string()) {
        parameters.push_back({{"$ref", "#/components/parameters/" + each.get<std::string>()}});
        continue;
      }
      const auto [key, schema] = *each.items().begin();
      const bool is_in_path = path.find("{" + key + "}") != std::string::npos;
      const bool is_required = is_in_path || key.ends_with('!');
      const std::string name = key.substr(0, key.find('!'));
      parameters.push_back(Parameter(name, schema, is_in_path ? "path" : "query", is_required));
    }
    return parameters;
  }

  Json Content(const Json& types) const {
    Json content = Json::object();
    for (const auto& [type, schema] : types.items()) {
      if (type == "csv") {
        content["text/csv"] = {{"schema", Type("text")}};
      } else if (type != "description") {
        content[type == "json" ? "application/json" : type] = {{"schema", Schema(schema)}};
      }
    }
    return content;
  }

  Json Operation(const std::string& path, const Json& notation) const {
    static const std::map<std::string, Json> kAccess = {
        {"everybody", Json::array()},
        {"admins", {{{"admin", Json::array()}}}},
        {"readers", {{{"read", Json::array()}}, {{"admin", Json::array()}}}},
        {"senders", {{{"project", Json::array()}}, {{"admin", Json::array()}}}},
        {"any key", {{{"project", Json::array()}}, {{"read", Json::array()}}, {{"admin", Json::array()}}}},
        {"sentry", {{{"sentry", Json::array()}}}}};
    Json operation = {{"summary", notation.at("summary")}};
    if (notation.contains("description")) operation["description"] = notation["description"];
    operation["tags"] = notation.at("tags");
    Json answers = notation.contains("answers") ? notation["answers"] : Json{{"200", notation.at("answer")}};
    for (auto& [status, answer] : answers.items()) {
      Json content = Content(answer);
      answer = {{"description", answer.at("description")}};
      if (!content.empty()) answer["content"] = std::move(content);
    }
    answers["default"] = {{"$ref", "#/components/responses/Error"}};
    operation["responses"] = std::move(answers);
    if (notation.contains("parameters")) operation["parameters"] = Parameters(path, notation["parameters"]);
    if (notation.contains("body")) {
      const Json& body = notation["body"];
      const bool is_other = body.is_object() && body.begin().key().find('/') != std::string::npos;
      operation["requestBody"] = {{"required", true},
                                  {"content", Content(is_other ? body : Json{{"json", body}})}};
    }
    operation["security"] = kAccess.at(notation.at("access"));
    return operation;
  }

  const Json& source_;
  const Json& named_;
};

}  // namespace

Json OpenApiDocument(const Json& source) { return Expander(source).Document(); }

}  // namespace lagwatch::tools
