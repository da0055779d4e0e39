// SPDX-License-Identifier: Apache-2.0
// The answer to an upload, and its meaning. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::report {

// A record that the collector will never take.
struct RecordRefusal {
  size_t record;  // its index in the batch
  std::string why;
};

struct UploadAnswer {
  enum class Kind {
    kDelivered,     // the collector has stored all of the batch, except `refusals`
    kRejected,      // it will never take this batch
    kTooLarge,      // something on the way does not take so much at once
    kUnauthorized,  // the key is missing or wrong
    kTryLater,      // the collector or the way to it is out of order
  };
  Kind kind = Kind::kTryLater;
  int http_status = 0;        // 0 when there was no answer
  int64_t retry_after_s = 0;  // 0 when the collector did not say
  std::string message{};      // for a person; empty when delivered
  // Of a collector's answer when delivered: of so many records it speaks.
  std::optional<uint64_t> answered_records{};
  std::vector<RecordRefusal> refusals{};
  std::optional<uint64_t> config_version{};  // that the collector has for this program now
  uint64_t packed_version = 1;               // the newest form of a batch that it is known to read
};

// From a status other than 0, the Content-Type and the body, both as they came. Any bytes will do. Only what
// speaks as a collector does can make reports be removed or set aside: the login page of a network must not.
UploadAnswer ParseUploadAnswer(int http_status, std::string_view content_type, std::string_view body);

// Whether the answer can be one to a batch of `records`, of which a collector of any
// version knows `known_records`.
bool FitsBatch(const UploadAnswer& answer, size_t records, size_t known_records);

}  // namespace lagwatch::report
