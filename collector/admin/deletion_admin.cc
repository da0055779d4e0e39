// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>

#include "collector/admin/admin_requests.h"
#include "collector/admin/refusals.h"
#include "collector/query/json/json_text.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMaxSubjectBytes = 1024;  // as texts of a report's header may have

Json DeletionJson(const Deletion& deletion) {
  return {{"id", deletion.id},
          {"kind", deletion.kind},
          {"subject", deletion.subject},
          {"by", deletion.by},
          {"begun_wall_ms", deletion.begun_wall_ms},
          {"ended_wall_ms", deletion.is_done() ? Json(deletion.ended_wall_ms) : Json()},
          {"reports", deletion.removed.reports},
          {"traces", deletion.removed.traces},
          {"others", deletion.removed.others},
          {"error", deletion.error.empty() ? Json() : Json(deletion.error)}};
}

Result<Deletion> ParseDeletion(std::string_view body) {
  const Json json = ParseJson(body);
  const auto text_of = [&](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!json.is_object() || json.size() != 2 || text_of("kind").empty() || text_of("subject").empty())
    return Unfitting(R"(the body must be {"kind": TEXT, "subject": TEXT})");
  Deletion deletion{.kind = text_of("kind"), .subject = text_of("subject")};
  if (!RemovalOf(deletion.kind))
    return Unfitting(R"("kind" must be one of "user", "report", "cluster", "key" and "app")");
  if (deletion.subject.size() > kMaxSubjectBytes)
    return Unfitting("\"subject\" has more than " + std::to_string(kMaxSubjectBytes) + " bytes");
  deletion.subjects = {deletion.subject};
  return deletion;
}

// Checks what is known to be invalid before the deletion begins.
Status Resolve(StoreReader* store, const AnnotatedCauses& causes, Deletion* deletion) {
  if (deletion->kind == "report") {
    const auto id = base::TryParseUuid(deletion->subject);
    if (!id) return Unfitting("\"subject\" is no id of a report");
    const auto report = LAGWATCH_TRY(store->FindReport(*id));
    if (!report) return {StatusCode::kNotFound, "there is no such report; /v1/reports lists them all"};
  }
  if (deletion->kind == "cluster") {
    const auto cluster = LAGWATCH_TRY(store->FindCluster(deletion->subject));
    if (!cluster) return {StatusCode::kNotFound, "there is no such cluster; /v1/clusters lists them all"};
    deletion->subjects = LAGWATCH_TRY(causes.MemberKeys(deletion->subject));
  }
  // Nothing keeps the name of a user who is deleted.
  if (deletion->kind == "user") deletion->subject = SubjectDigest(deletion->subject);
  return {};
}

}  // namespace

Result<Response> ListDeletions(Deletions* deletions) {
  const auto all = LAGWATCH_TRY(deletions->All());
  Json list = Json::array();
  for (const Deletion& deletion : all) list.push_back(DeletionJson(deletion));
  return Response{200, JsonText(list)};
}

Result<Response> BeginDeletion(Deletions* deletions, StoreReader* store, const AnnotatedCauses& causes,
                               std::string_view body, std::string_view by, AuditLog* audit) {
  auto deletion = LAGWATCH_TRY(ParseDeletion(body));
  if (Status resolved = Resolve(store, causes, &deletion); !resolved.ok()) return resolved;
  deletion.by = by;
  const auto begun = LAGWATCH_TRY(deletions->Begin(std::move(deletion)));
  audit->Add(by, "deletion.begin", begun.kind + " " + begun.subject, {{"id", begun.id}});
  return Response{202, JsonText(DeletionJson(begun))};
}

}  // namespace lagwatch::collector
