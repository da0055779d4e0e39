// SPDX-License-Identifier: Apache-2.0
// Runs decoders over untrusted bytes: their errors become a Status.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/uuid.h"
#include "report/format/protozero_checked.h"

namespace lagwatch::report {

inline base::Uuid ReadUuid(protozero::pbf_reader* message) {
  auto view = message->get_view();
  auto uuid = base::TryUuidFromBytes({view.data(), view.size()});
  if (!uuid) throw SchemaError{"an id is not 16 bytes"};
  return *uuid;
}

// Returns the result of `read`, or kInvalid with the error of the `subject` in words.
template <typename Read>
auto Guarded(const char* subject, Read read) -> base::Result<decltype(read())> {
  auto invalid = [](std::string what) { return base::Status(base::StatusCode::kInvalid, std::move(what)); };
  try {
    return read();
  } catch (const SchemaError& error) {
    return invalid(std::string(subject) + " is malformed: " + error.what);
  } catch (const protozero::exception& error) {
    return invalid(std::string(subject) + " is not a valid protocol buffer: " + error.what());
  }
}

}  // namespace lagwatch::report
