// SPDX-License-Identifier: Apache-2.0
#include "base/gzip/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace lagwatch::base {
namespace {

constexpr int kGzipWindowBits = MAX_WBITS + 16;

// A z_stream counts what it is given at once in 32 bits.
constexpr size_t kMostAtOnce = size_t{1} << 30;

void Give(std::string_view* bytes, z_stream* stream) {
  if (stream->avail_in != 0 || bytes->empty()) return;
  const size_t size = std::min(bytes->size(), kMostAtOnce);
  stream->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes->data()));
  stream->avail_in = static_cast<uInt>(size);
  bytes->remove_prefix(size);
}

// Appends to `content` what `work` makes of the next bytes; returns its state.
template <typename Work>
int TakePiece(z_stream* stream, Work work, std::string* content) {
  char piece[32 << 10];
  stream->next_out = reinterpret_cast<Bytef*>(piece);
  stream->avail_out = sizeof piece;
  const int state = work();
  content->append(piece, sizeof piece - stream->avail_out);
  return state;
}

}  // namespace

std::string Gzip(std::string_view bytes, int memory_level) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string compressed;
  for (int state = Z_OK; state == Z_OK;) {
    Give(&bytes, &stream);
    state = TakePiece(
        &stream, [&] { return deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH); }, &compressed);
  }
  deflateEnd(&stream);
  return compressed;
}

Result<std::string> Gunzip(std::string_view gzip, size_t limit_bytes) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) throw std::bad_alloc();
  std::string bytes;
  int state = Z_OK;
  while (state == Z_OK && bytes.size() <= limit_bytes) {
    Give(&gzip, &stream);
    state = TakePiece(
        &stream, [&] { return inflate(&stream, Z_NO_FLUSH); }, &bytes);
  }
  inflateEnd(&stream);
  if (bytes.size() > limit_bytes)
    return Status(StatusCode::kTooLarge, "it expands to more than " + std::to_string(limit_bytes) + " bytes");
  if (state != Z_STREAM_END) return Status(StatusCode::kInvalid, "it is not gzip, or is cut short");
  return bytes;
}

}  // namespace lagwatch::base
