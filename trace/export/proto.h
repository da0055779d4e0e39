// SPDX-License-Identifier: Apache-2.0
// Protocol Buffers, to be written only: reading would need protozero's checks, which are set up
// elsewhere. Context: background.
#pragma once

#include <protozero/pbf_builder.hpp>

namespace lagwatch::trace {

using FieldNumber = protozero::pbf_tag_type;
// Writes a message with the fields `Field`; a nested one is complete when its writer is destroyed or
// commit() was called.
template <typename Field>
using ProtoWriter = protozero::pbf_builder<Field>;

}  // namespace lagwatch::trace
