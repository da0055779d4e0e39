// SPDX-License-Identifier: Apache-2.0
// A collector that the test controls: it decodes the batches for real and gives the scripted answers.
#pragma once

#include <zlib.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/packed_batch.h"
#include "report/upload/name_frames.h"
#include "report/upload/transport/transport.h"

namespace lagwatch::testing {

inline std::string Gunzip(std::string_view compressed) {
  z_stream stream{};
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK) throw std::runtime_error("inflateInit2 failed");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  std::string bytes;
  int state = Z_OK;
  while (state == Z_OK) {
    char piece[65536];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(piece, sizeof piece - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("the body is not gzip");
  return bytes;
}

class ScriptedTransport final : public report::Transport {
 public:
  using Payloads = std::vector<std::string>;
  using Script = std::function<report::UploadAnswer(const Payloads& payloads)>;

  static Script Always(report::UploadAnswer::Kind kind) {
    return [kind](const Payloads&) { return report::UploadAnswer{.kind = kind, .message = "as scripted"}; };
  }

  report::UploadAnswer Post(std::string_view gzip_body) override {
    std::string batch = Gunzip(gzip_body);
    batch_bytes.push_back(batch.size());
    packed_versions.push_back(VersionOf(batch));
    auto records = report::ReadBatch(batch);
    Payloads payloads;
    for (const report::OwnedRecord& record : *records) payloads.emplace_back(record.payload);
    posts.push_back(payloads);
    report::UploadAnswer answer = script(payloads);
    if (answer.kind == report::UploadAnswer::Kind::kDelivered) {
      stored.insert(stored.end(), payloads.begin(), payloads.end());
    }
    return answer;
  }
  void Abort() override {}

  Script script = Always(report::UploadAnswer::Kind::kDelivered);
  std::vector<Payloads> posts;
  std::vector<size_t> batch_bytes;        // of each post, inflated
  std::vector<uint64_t> packed_versions;  // likewise; 0 of a batch of plain records
  Payloads stored;

 private:
  // A packed batch begins with its field 1.
  static uint64_t VersionOf(std::string_view batch) {
    const auto records = report::SplitBatch(batch);
    const bool is_packed = !records->empty() && records->front().type == report::RecordType::kPacked;
    return is_packed ? static_cast<uint8_t>(records->front().payload[1]) : 0;
  }
};

// Knows no name.
class NoNames final : public report::FrameNamer {
 public:
  std::optional<std::string> NameOf(const std::string&, std::string_view, uint64_t) override {
    return std::nullopt;
  }
};

}  // namespace lagwatch::testing
