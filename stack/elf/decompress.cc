// SPDX-License-Identifier: Apache-2.0
#include <lzma.h>
#include <zlib.h>

#include <algorithm>

#include "stack/elf/elf_file.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kPieceBytes = 256 << 10;
// `xz -9` asks its reader for 65 MiB, most of which is not touched for a small file.
constexpr uint64_t kMaxXzMemoryBytes = 80 << 20;

enum class StreamStep { kMore, kDone, kFailed };

// Calls `decode(begin, size_bytes, &unused_bytes)` for one piece of output after another.
template <typename Decode>
std::optional<std::string> CollectPieces(Decode decode) {
  std::string text;
  while (text.size() < kMaxDecompressedBytes) {
    size_t filled = text.size();
    text.resize(filled + kPieceBytes);
    size_t unused_bytes = 0;
    StreamStep step = decode(text.data() + filled, kPieceBytes, &unused_bytes);
    text.resize(text.size() - unused_bytes);
    if (step == StreamStep::kFailed) break;
    if (step == StreamStep::kDone && text.size() < kMaxDecompressedBytes) return text;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> DecompressZlib(std::string_view compressed) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(compressed.size(), UINT32_MAX));
  auto text = CollectPieces([&](char* piece, size_t size_bytes, size_t* unused_bytes) {
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = static_cast<uInt>(size_bytes);
    int result = inflate(&stream, Z_NO_FLUSH);
    *unused_bytes = stream.avail_out;
    return result == Z_STREAM_END ? StreamStep::kDone
           : result == Z_OK       ? StreamStep::kMore
                                  : StreamStep::kFailed;
  });
  inflateEnd(&stream);
  return text;
}

std::optional<std::string> DecompressXz(std::string_view compressed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxXzMemoryBytes, 0) != LZMA_OK) return std::nullopt;
  stream.next_in = reinterpret_cast<const uint8_t*>(compressed.data());
  stream.avail_in = compressed.size();
  auto text = CollectPieces([&](char* piece, size_t size_bytes, size_t* unused_bytes) {
    stream.next_out = reinterpret_cast<uint8_t*>(piece);
    stream.avail_out = size_bytes;
    lzma_ret result = lzma_code(&stream, LZMA_FINISH);
    *unused_bytes = stream.avail_out;
    return result == LZMA_STREAM_END ? StreamStep::kDone
           : result == LZMA_OK       ? StreamStep::kMore
                                     : StreamStep::kFailed;
  });
  lzma_end(&stream);
  return text;
}

}  // namespace lagwatch::stack
