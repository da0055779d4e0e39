// SPDX-License-Identifier: Apache-2.0
// A message as protoc shows it, which knows a schema and nothing of our code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lagwatch::testing {

struct Decoded {
  std::string name;
  std::string value;  // of a field that is no message, as it is written: "12", "\"a\\nb\"", TYPE_INSTANT
  std::vector<Decoded> fields;

  std::vector<const Decoded*> All(const std::string& field) const;
  // The first one; an empty one when there is none.
  const Decoded& operator[](const std::string& field) const;
  bool Has(const std::string& field) const { return !All(field).empty(); }
  uint64_t Number(const std::string& field) const;
  // Without its quotes, with its escapes undone.
  std::string Text(const std::string& field) const;
  std::string text() const;
};

// Throws std::runtime_error when protoc refuses `bytes`, or finds a field that the schema does not have.
Decoded Decode(const std::string& schema_file, const std::string& message, const std::string& bytes);

// The output of `command`; throws if it failed.
std::string RunCommand(const std::string& command);

}  // namespace lagwatch::testing
