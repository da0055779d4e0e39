// SPDX-License-Identifier: Apache-2.0
// Whatever answers a client that asks for its config: nothing is opened that the key's owner did not sign,
// and what he signed is within its ranges, or refused in words.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "report/config/remote_config.h"
#include "report/config/secret_key.h"
#include "report/config/signed_document.h"

namespace {

using namespace lagwatch::report;

void CheckDocument(std::string_view text) {
  auto config = ParseRemoteConfig(text);
  if (!config.ok()) {
    if (config.status().message().empty()) abort();
    return;
  }
  for (const NumberKey& key : NumberKeys()) {
    const std::optional<uint32_t>& value = (*config).*key.value;
    if (value && (*value < key.least || *value > key.most)) abort();
  }
  if (config->capture_requests.size() > CaptureRequest::kMaxRequests) abort();
  if (config->probe_requests.size() > ProbeRequest::kMaxRequests) abort();
  for (const ProbeRequest& request : config->probe_requests) {
    if (request.user_share_ppm > ProbeRequest::kAllPpm) abort();
    if (request.duration_s == 0 || request.duration_s > ProbeRequest::kMostDurationS) abort();
  }
  for (const CaptureRequest& request : config->capture_requests) {
    const bool is_in_range = request.interval_us >= CaptureRequest::kLeastIntervalUs &&
                             request.interval_us <= CaptureRequest::kMostIntervalUs;
    if (!is_in_range) abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  static const SigningKey key = SigningKey::Create().value();
  static const PublicKey public_key = key.ToPublicKey().value();
  const std::string_view bytes(reinterpret_cast<const char*>(data), size_bytes);
  if (OpenSigned(bytes, public_key).ok()) abort();
  CheckDocument(bytes);
  constexpr size_t kMaxSignedBytes = 128 << 10;  // an envelope has room for these
  if (size_bytes > kMaxSignedBytes) return 0;
  auto opened = OpenSigned(key.Seal(bytes).value(), public_key);
  if (!opened.ok() || *opened != bytes) abort();
  return 0;
}
