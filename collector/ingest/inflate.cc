// SPDX-License-Identifier: Apache-2.0
#include "collector/ingest/inflate.h"

#define ZLIB_CONST
#include <zlib.h>

#include <array>

namespace lagwatch::collector {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

// Appends within the limit, and grows so that the last step reserves the limit exactly: halves of it before.
bool AppendWithin(size_t limit_bytes, std::string_view piece, std::string* content) {
  if (piece.size() > limit_bytes - content->size()) return false;
  size_t needed_bytes = content->size() + piece.size();
  if (needed_bytes > content->capacity()) {
    int halvings = 0;
    while (limit_bytes >> (halvings + 1) >= needed_bytes) ++halvings;
    content->reserve(limit_bytes >> halvings);
  }
  content->append(piece);
  return true;
}

class Inflater {
 public:
  explicit Inflater(std::string_view compressed) {
    stream_.next_in = reinterpret_cast<const Bytef*>(compressed.data());
    stream_.avail_in = static_cast<uInt>(compressed.size());
    is_ready_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // The next piece, valid until the next call; empty at the end or when the input is bad.
  std::string_view Next() {
    if (!is_ready_) return {};
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_out = static_cast<uInt>(piece_.size());
    int code = inflate(&stream_, Z_NO_FLUSH);
    is_ready_ = code == Z_OK;
    is_complete_ = code == Z_STREAM_END && stream_.avail_in == 0;
    if (code != Z_OK && code != Z_STREAM_END) return {};
    return {piece_.data(), piece_.size() - stream_.avail_out};
  }
  bool is_complete() const { return is_complete_; }
  size_t read_bytes() const { return stream_.total_in; }

 private:
  z_stream stream_{};
  std::array<char, 65536> piece_;
  bool is_ready_ = false;
  bool is_complete_ = false;
};

}  // namespace

base::Result<std::string> InflateGzip(std::string_view compressed, size_t limit_bytes) {
  Inflater inflater(compressed);
  std::string content;
  for (std::string_view piece = inflater.Next(); !piece.empty(); piece = inflater.Next()) {
    if (!AppendWithin(limit_bytes, piece, &content)) {
      return Status(StatusCode::kTooLarge, "the body inflates to more than " + std::to_string(limit_bytes) +
                                               " bytes; send fewer reports in one request");
    }
    if (content.size() > kFreeBytes && content.size() / kMaxRatio > inflater.read_bytes()) {
      return Status(StatusCode::kTooLarge, "the body inflates to more than " + std::to_string(kMaxRatio) +
                                               " times its size; send fewer reports in one request");
    }
  }
  if (!inflater.is_complete()) {
    return Status(StatusCode::kInvalid,
                  "the body is not one whole gzip member; compress it again and resend");
  }
  return content;
}

}  // namespace lagwatch::collector
