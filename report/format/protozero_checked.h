// SPDX-License-Identifier: Apache-2.0
// To be included before any protozero header. protozero only asserts that a field has the wire type asked
// for; bytes from outside must be refused instead, in every build.
#pragma once

namespace lagwatch::report {

// An error in bytes that the wire format allows and the schema does not. Caught inside report/format.
struct SchemaError {
  const char* what;
};

inline void RequireSchema(bool holds) {
  if (!holds) throw SchemaError{"a field has the wrong type"};
}

}  // namespace lagwatch::report

#define protozero_assert(condition) ::lagwatch::report::RequireSchema(condition)

#include <protozero/basic_pbf_writer.hpp>
#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>
#include <protozero/pbf_writer.hpp>
