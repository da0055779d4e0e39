// SPDX-License-Identifier: Apache-2.0
// Whatever answers at an endpoint: the first two bytes are the status, up to a line's end comes the content
// type, and then the body.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "report/upload/transport/upload_answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lagwatch::report::UploadAnswer;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.size() < 2) return 0;
  const int status = data[0] + 256 * (data[1] % 4);
  input.remove_prefix(2);
  const std::string_view content_type = input.substr(0, input.find('\n'));
  input.remove_prefix(std::min(content_type.size() + 1, input.size()));

  const UploadAnswer answer = lagwatch::report::ParseUploadAnswer(status, content_type, input);
  const bool is_delivered = answer.kind == UploadAnswer::Kind::kDelivered;
  const bool is_sound = answer.message.size() <= 300 && (!is_delivered || (status >= 200 && status < 300)) &&
                        is_delivered == answer.message.empty();
  // An answer without results for the records must not make them be removed.
  if (!is_sound || (is_delivered && !answer.answered_records)) std::abort();
  lagwatch::report::FitsBatch(answer, size % 200, size % 100);
  return 0;
}
