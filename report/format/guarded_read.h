// SPDX-License-Identifier: Apache-2.0
// How decoders meet bytes from outside: what is wrong with them becomes a Status.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "base/uuid.h"
#include "report/format/protozero_checked.h"

namespace lagwatch::report {

template <typename Field>
base::Uuid ReadUuid(protozero::pbf_message<Field>* message) {
  auto view = message->get_view();
  auto uuid = base::TryUuidFromBytes({view.data(), view.size()});
  if (!uuid) throw SchemaError{"an id is not 16 bytes"};
  return *uuid;
}

// What `read` returns, or kInvalid with what is wrong with the `subject` in words.
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
