// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/files/sha256.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <vector>

#include "base/text.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kPieceBytes = 1 << 20;

}  // namespace

base::Result<std::string> Sha256OfFile(int fd) {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  std::vector<char> piece(kPieceBytes);
  off_t place = 0;
  ssize_t got = 0;
  while ((got = pread(fd, piece.data(), piece.size(), place)) > 0) {
    EVP_DigestUpdate(context.get(), piece.data(), static_cast<size_t>(got));
    place += got;
  }
  if (got < 0) return base::IoError("cannot read the file", errno);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size_bytes = 0;
  EVP_DigestFinal_ex(context.get(), digest, &size_bytes);
  return base::ToHex(std::span(digest, size_bytes));
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of(base::kHexDigits) == std::string_view::npos;
}

}  // namespace lagwatch::collector
