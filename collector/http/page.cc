// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "collector/http/endpoints.h"
#include "collector/ingest/inflate.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kIndex = "/index.html";
// The same for addresses with a folder: it loads its files relative to them, so that a proxy may add a path.
constexpr std::string_view kIndexBelow = "/below/index.html";
constexpr std::string_view kAddresses[] = {"/",        "/causes/{cause}", "/reports/{report}", "/hang-rate",
                                           "/live",    "/probes",         "/probes/{script}",  "/settings",
                                           "/connect", "/glossary"};
// Nothing comes from elsewhere or goes there, and no text becomes a script.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
// A name with its content's hash in it is never another content's.
constexpr std::string_view kForever = "public, max-age=31536000, immutable";
constexpr std::string_view kAskEachTime = "no-cache";
constexpr uint64_t kMostInflatedBytes = 16 << 20;

Response Answer(const PageFile& file, const Request& request) {
  Response response{.status = 200,
                    .body = {},
                    .etag = std::string(file.etag),
                    .content_type = file.content_type,
                    .cache_control = file.path.starts_with("/assets/") ? kForever : kAskEachTime,
                    .security_policy = kPolicy};
  if (request.if_none_match == file.etag) {
    response.status = 304;
  } else if (request.accepts_gzip) {
    response.body = file.gzip;
    response.content_encoding = "gzip";
  } else {
    auto inflated = InflateGzip(file.gzip, kMostInflatedBytes);
    if (!inflated.ok()) return ErrorResponse(inflated.status());
    response.body = std::move(*inflated);
  }
  return response;
}

Endpoint Open(std::string_view path, Handler handler) {
  return {.method = "GET",
          .path = path,
          .access = kEverybody,
          .runs_on = RunsOn::kIo,
          .handler = std::move(handler)};
}

const PageFile* Find(std::span<const PageFile> files, std::string_view path) {
  const auto found = std::ranges::find(files, path, &PageFile::path);
  return found == files.end() ? nullptr : &*found;
}

// A browser gets the page, which says that nothing is there and where to go on. Its files are as many folders
// up as the address is deep.
Response AnswerMissing(const PageFile& index, const Request& request) {
  constexpr std::string_view kHere = "=\"./";
  auto page = InflateGzip(index.gzip, kMostInflatedBytes);
  if (!page.ok()) return ErrorResponse(page.status());
  std::string up;
  for (auto folders = std::ranges::count(request.path, '/'); folders > 1; --folders) up += "../";
  for (size_t at = 0; !up.empty() && (at = page->find(kHere, at)) != std::string::npos; at += up.size())
    page->replace(at + 2, 2, up);
  return {.status = 404,
          .body = std::move(*page),
          .content_type = index.content_type,
          .cache_control = kAskEachTime,
          .security_policy = kPolicy};
}

Handler Sending(const PageFile* file) {
  return [file](const Request& request, const Respond& respond) { respond(Answer(*file, request)); };
}

void SayThereIsNone(const Request&, const Respond& respond) {
  respond(ErrorResponse(
      404, "not_found",
      "this collector was built without its page, because npm was missing; `lagwatch clusters` shows "
      "the same in a terminal"));
}

}  // namespace

void AddPage(std::span<const PageFile> files, std::vector<Endpoint>* endpoints) {
  const PageFile* const index = Find(files, kIndex);
  const PageFile* const below = Find(files, kIndexBelow);
  for (const std::string_view address : kAddresses) {
    const PageFile* const file = address.rfind('/') > 0 ? below : index;
    endpoints->push_back(Open(address, file == nullptr ? Handler(SayThereIsNone) : Sending(file)));
  }
  if (index != nullptr) {
    endpoints->push_back(Open(kNoSuchPage, [index](const Request& request, const Respond& respond) {
      respond(AnswerMissing(*index, request));
    }));
  }
  for (const PageFile& file : files)
    if (file.path != kIndex && file.path != kIndexBelow)
      endpoints->push_back(Open(file.path, Sending(&file)));
}

}  // namespace lagwatch::collector
