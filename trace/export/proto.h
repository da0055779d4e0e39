// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers, to be written only: reading would need protozero's checks, which are set up elsewhere.
// Context: background.
#pragma once

#include <protozero/pbf_builder.hpp>

namespace lagwatch::trace {

using FieldNumber = protozero::pbf_tag_type;
// A message with the fields `Field`; a nested one is complete when its writer is gone or was told commit().
template <typename Field>
using ProtoWriter = protozero::pbf_builder<Field>;

}  // namespace lagwatch::trace
