// SPDX-License-Identifier: Apache-2.0
#include "collector/query/symbols_api.h"

#include "collector/query/json/json_text.h"
#include "collector/query/query_string.h"
#include "collector/symbols/files/sha256.h"
#include "collector/symbols/mapping/mapping_id.h"

namespace lagwatch::collector {
namespace {

Status Invalid(const char* message) { return {StatusCode::kInvalid, message}; }

struct PutParameters {
  SymbolUpload upload;
  uint64_t offset = 0;
};

// A mapping's owner, in its label and in lists.
constexpr const char* kOwnerKeys[] = {"app", "version", "map_id"};

Result<BuildId> ReadMappingOwner(const QueryString& query, Json* owner) {
  constexpr size_t kMostBytes = 1024;
  for (const char* key : kOwnerKeys) {
    const std::string value = query.Get(key);
    if (value.size() > kMostBytes) return Invalid("an app, a version or a map id has 1,024 bytes at most");
    if (!value.empty()) (*owner)[key] = value;
  }
  const bool has_app = owner->contains("app");
  if (has_app == owner->contains("map_id"))
    return Invalid("a mapping belongs to an app and its version, or to the map_id that R8 wrote into it");
  return *BuildId::FromBytes(has_app ? MappingIdOfApp(query.Get("app"), query.Get("version"))
                                     : MappingIdOfMapId(query.Get("map_id")));
}

Result<SymbolUpload> ReadMapping(const QueryString& query) {
  Json owner = Json::object();
  auto id = LAGWATCH_TRY(ReadMappingOwner(query, &owner));
  return SymbolUpload{.build_id = std::move(id),
                      .kind = SymbolKind::kMapping,
                      .sha256 = query.Get("sha256"),
                      .label = JsonText(owner)};
}

Result<SymbolUpload> ReadFile(std::string_view build_id, const QueryString& query) {
  auto id = BuildId::FromHex(build_id);
  if (!id) return Invalid("a build id is 8 to 128 hexadecimal digits; `readelf -n FILE` prints a file's");
  const std::string kind = query.Get("kind");
  if (!kind.empty() && kind != "debug" && kind != "executable") {
    return Invalid("kind is 'debug' or 'executable'");
  }
  SymbolUpload upload{.build_id = *std::move(id), .sha256 = query.Get("sha256")};
  if (kind == "executable") upload.kind = SymbolKind::kExecutable;
  return upload;
}

Result<SymbolUpload> ReadUpload(std::string_view build_id, const QueryString& query) {
  auto upload = LAGWATCH_TRY(build_id == "mapping" ? ReadMapping(query) : ReadFile(build_id, query));
  if (!upload.sha256.empty() && !IsSha256(upload.sha256)) {
    return Invalid("sha256 is 64 hexadecimal digits, in lower case");
  }
  return upload;
}

Result<PutParameters> ReadPut(std::string_view build_id, std::string_view text) {
  auto query = LAGWATCH_TRY(QueryString::Parse(text));
  auto upload = LAGWATCH_TRY(ReadUpload(build_id, query));
  auto size = query.GetInt("size", 0, 1, INT64_MAX);
  if (!size.ok() || *size == 0) return Invalid("size is the whole file's size in bytes");
  auto offset = query.GetInt("offset", 0, 0, INT64_MAX);
  if (!offset.ok()) return Invalid("offset is where in the file the body begins, in bytes");
  upload.size_bytes = static_cast<uint64_t>(*size);
  return PutParameters{std::move(upload), static_cast<uint64_t>(*offset)};
}

Response ProgressResponse(const UploadProgress& progress) {
  Json json = {{"complete", progress.is_complete}};
  if (!progress.is_complete) json["received_bytes"] = progress.received_bytes;
  if (!progress.note.empty()) json["note"] = progress.note;
  return {200, JsonText(json)};
}

}  // namespace

Response SymbolsApi::List() const {
  Json list = Json::array();
  for (const StoredSymbolFile& file : files_->List()) {
    list.push_back({{"build_id", file.build_id},
                    {"kind", SymbolKindName(file.kind)},
                    {"size_bytes", file.size_bytes},
                    {"stored_wall_ms", file.stored_wall_ms},
                    {"used_wall_ms", file.used_wall_ms}});
    const Json owner = Json::parse(file.label, nullptr, /*allow_exceptions=*/false);
    for (const char* key : kOwnerKeys)
      if (owner.is_object() && owner.contains(key)) list.back()[key] = owner[key];
  }
  return {200, JsonText(list)};
}

Response SymbolsApi::Progress(std::string_view build_id, std::string_view query) const {
  auto parsed = QueryString::Parse(query);
  if (!parsed.ok()) return ErrorResponse(parsed.status());
  auto upload = ReadUpload(build_id, *parsed);
  if (!upload.ok()) return ErrorResponse(upload.status());
  return ProgressResponse(files_->ProgressOf(*upload));
}

Response SymbolsApi::Put(std::string_view build_id, std::string_view query, std::string_view body) {
  auto put = ReadPut(build_id, query);
  if (!put.ok()) return ErrorResponse(put.status());
  auto progress = files_->Append(put->upload, put->offset, body);
  return progress.ok() ? ProgressResponse(*progress) : ErrorResponse(progress.status());
}

}  // namespace lagwatch::collector
