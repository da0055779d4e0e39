// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/text.h"
#include "collector/admin/admin_requests.h"
#include "collector/admin/refusals.h"
#include "collector/keys/key_record.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMaxTextBytes = 500;

struct TextKey {
  const char* name;
  std::string ClusterNote::*text;
};
constexpr std::array<TextKey, 5> kTexts = {{{"title", &ClusterNote::title},
                                            {"link", &ClusterNote::link},
                                            {"state", &ClusterNote::state},
                                            {"fixed_in", &ClusterNote::fixed_in},
                                            {"merged_into", &ClusterNote::merged_into}}};

Status SetText(const std::string& name, const Json& value, ClusterNote* note) {
  for (const TextKey& known : kTexts) {
    if (known.name != name) continue;
    if (!value.is_string() && !value.is_null()) return Unfitting("\"" + name + "\" must be a text");
    const std::string text = value.is_null() ? "" : value.get<std::string>();
    if (text.size() > kMaxTextBytes)
      return Unfitting("\"" + name + "\" has more than " + std::to_string(kMaxTextBytes) + " bytes");
    note->*known.text = text;
    return {};
  }
  return Unfitting("\"" + name + "\" is nothing that can be said of a cluster");
}

// A link is shown to be clicked on: nothing but a page.
Status Check(const ClusterNote& note) {
  if (!note.link.empty() && !note.link.starts_with("https://") && !note.link.starts_with("http://"))
    return Unfitting("\"link\" must begin with https:// or http://");
  for (std::string_view state : {"", "new", "known", "fixed", "ignored"}) {
    if (note.state == state) return {};
  }
  return Unfitting(R"("state" must be one of "new", "known", "fixed" and "ignored")");
}

Status Apply(std::string_view body, ClusterNote* note, Json* changes) {
  *changes = ParseJson(body);
  if (!changes->is_object() || changes->empty()) return Unfitting("the body is no JSON object with changes");
  for (const auto& [name, value] : changes->items()) {
    if (name == "is_split") {
      if (!value.is_boolean()) return Unfitting(R"("is_split" must be true or false)");
      note->is_split = value.get<bool>();
    } else if (Status set = SetText(name, value, note); !set.ok()) {
      return set;
    }
  }
  return Check(*note);
}

Json NoteJson(const ClusterNote& note) {
  Json json = {{"key", note.key}};
  for (const TextKey& known : kTexts) {
    const std::string& text = note.*known.text;
    json[known.name] = text.empty() ? Json() : Json(text);
  }
  json["is_split"] = note.is_split;
  return json;
}

// Another for all that can be changed.
std::string EtagOf(const ClusterNote& note) {
  const KeyDigest digest = DigestOf(JsonText({NoteJson(note), note.changed_wall_ms, note.changed_by}));
  return '"' + base::ToHex(std::span(digest).first(8)) + '"';
}

Response NoteResponse(const ClusterNote& note) {
  return {.status = 200, .body = JsonText(NoteJson(note)), .etag = EtagOf(note)};
}

}  // namespace

Result<Response> GetCluster(const AnnotatedCauses& annotated, std::string_view key) {
  return NoteResponse(LAGWATCH_TRY(annotated.Note(std::string(key))));
}

Result<Response> PatchCluster(const AnnotatedCauses& annotated, std::string_view key, std::string_view body,
                              std::string_view by, AuditLog* audit, std::string_view if_match) {
  Json changes;
  std::optional<Response> refusal;
  const auto changed = annotated.Change(std::string(key), [&](ClusterNote* note) -> Status {
    if (!IfMatchHolds(if_match, EtagOf(*note))) {
      refusal = PreconditionFailed(EtagOf(*note));
      return {StatusCode::kInvalid, "changed by another"};
    }
    if (Status applied = Apply(body, note, &changes); !applied.ok()) return applied;
    // A hang after this moment means that the cause came back; a new title does not move the moment.
    if (changes.contains("state") || changes.contains("fixed_in"))
      note->changed_wall_ms = base::SystemClock().WallMs();
    note->changed_by = by;
    return {};
  });
  if (refusal) return std::move(*refusal);
  if (!changed.ok()) return changed.status();
  audit->Add(by, "cluster.change", key, changes);
  return NoteResponse(*changed);
}

}  // namespace lagwatch::collector
