// SPDX-License-Identifier: Apache-2.0
#include "tools/symbols/symbols_client.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/owned_fd.h"
#include "collector/symbols/files/sha256.h"
#include "report/upload/transport/gzip.h"

namespace lagwatch::tools {
namespace {

constexpr size_t kPieceBytes = 1 << 20;  // the most that a collector takes in a body
constexpr long kTimeoutS = 180;  // the last piece of a large file is answered when all of it was checked
constexpr int kTries = 4;

Result<std::string> ReadPiece(int fd, uint64_t offset, const std::string& path) {
  std::string piece(kPieceBytes, '\0');
  ssize_t got = pread(fd, piece.data(), piece.size(), static_cast<off_t>(offset));
  if (got <= 0) return base::IoError("cannot read " + path, got < 0 ? errno : EIO);
  piece.resize(static_cast<size_t>(got));
  return piece;
}

struct FileProgress {
  bool is_complete;
  uint64_t received_bytes;
  std::string note;
};

Result<FileProgress> ReadProgress(const Result<Json>& answer) {
  if (!answer.ok()) return answer.status();
  const bool is_progress = answer->is_object() && answer->contains("complete");
  if (!is_progress)
    return Status(StatusCode::kInternal, "the collector's answer has an unknown format; update lagwatch");
  return FileProgress{answer->value("complete", false), answer->value("received_bytes", uint64_t{0}),
                      answer->value("note", std::string())};
}

}  // namespace

SymbolsClient::SymbolsClient(Endpoint endpoint) : client_(std::move(endpoint)) {}

Result<Json> SymbolsClient::List() { return Ask("/v1/symbols", nullptr, false); }

Result<Json> SymbolsClient::Ask(const std::string& target, const std::string* body, bool is_gzip) {
  EndpointRequest request{.target = target, .body = body, .timeout_s = kTimeoutS};
  if (body != nullptr) {
    request.method = "PUT";
    request.headers = {"Content-Type: application/octet-stream", "Expect:"};
  }
  if (is_gzip) request.headers.push_back("Content-Encoding: gzip");
  const auto reply = client_.Ask(request);
  return reply.ok() ? ReadAnswer(reply->http_status, reply->body) : reply.status();
}

Result<Json> SymbolsClient::AskPatiently(const std::string& target, const std::string* body, bool is_gzip,
                                         const std::atomic<bool>& is_stopped) {
  auto pause = std::chrono::milliseconds(500);
  for (int tries = 1;; ++tries) {
    auto answer = Ask(target, body, is_gzip);
    const bool is_final = answer.ok() || answer.status().code() != StatusCode::kUnavailable;
    if (is_final || tries == kTries || is_stopped) return answer;
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

Result<Json> SymbolsClient::SendPiece(const std::string& target, std::string piece,
                                      const std::atomic<bool>& is_stopped) {
  std::string packed = report::Gzip(piece);
  if (packed.size() < piece.size()) {
    auto answer = AskPatiently(target, &packed, true, is_stopped);
    // Long runs of zeros look like a bomb to a collector, which takes them as they are.
    if (answer.ok() || answer.status().code() != StatusCode::kTooLarge) return answer;
  }
  return AskPatiently(target, &piece, false, is_stopped);
}

Result<SymbolsClient::Outcome> SymbolsClient::Upload(const LocalSymbolFile& file,
                                                     const std::function<void(uint64_t)>& on_bytes,
                                                     const std::atomic<bool>& is_stopped) {
  base::OwnedFd fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return base::IoError("cannot open " + file.path, errno);
  auto sha256 = LAGWATCH_TRY(collector::Sha256OfFile(fd.get()));
  const std::string owner =
      file.owner.empty() ? file.build_id.hex() + "?kind=" + std::string(collector::SymbolKindName(file.kind))
                         : "mapping?" + file.owner;
  const std::string target = "/v1/symbols/" + owner + "&sha256=" + sha256;
  auto progress = ReadProgress(AskPatiently(target, nullptr, false, is_stopped));
  const bool was_there = progress.ok() && progress->is_complete;
  uint64_t done_bytes = 0;
  while (progress.ok() && !progress->is_complete && !is_stopped) {
    // Of a file that came as a whole and was not checked yet, the last byte is sent again.
    const uint64_t offset = std::min(progress->received_bytes, file.size_bytes - 1);
    on_bytes(offset - std::min(done_bytes, offset));
    done_bytes = std::max(done_bytes, offset);
    auto piece = LAGWATCH_TRY(ReadPiece(fd.get(), offset, file.path));
    progress = ReadProgress(
        SendPiece(target + "&offset=" + std::to_string(offset) + "&size=" + std::to_string(file.size_bytes),
                  std::move(piece), is_stopped));
    if (progress.ok() && !progress->is_complete && progress->received_bytes <= offset) {
      return Status(StatusCode::kInternal, "the collector rejected " + file.path + "; send it again later");
    }
  }
  if (!progress.ok()) return Status(progress.status().code(), file.path + ": " + progress.status().message());
  on_bytes(file.size_bytes - done_bytes);
  return Outcome{was_there, std::move(progress->note)};
}

}  // namespace lagwatch::tools
