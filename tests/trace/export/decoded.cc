// SPDX-License-Identifier: Apache-2.0
#include "tests/trace/export/decoded.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/testing/temp_directory.h"

namespace lagwatch::testing {
namespace {

// Of "name {", "name: value" and "}" in lines.
Decoded Parse(const std::string& text) {
  Decoded root;
  std::vector<Decoded*> open{&root};
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.empty()) continue;
    if (std::isdigit(static_cast<unsigned char>(line[0])))
      throw std::runtime_error("the schema has no such field: " + line);
    if (line == "}") {
      open.pop_back();
      continue;
    }
    const size_t end = line.find_first_of(": ");
    Decoded& field = open.back()->fields.emplace_back();
    field.name = line.substr(0, end);
    if (line.back() == '{' && line[end] == ' ') {
      open.push_back(&field);
    } else {
      field.value = line.substr(end + 2);
    }
  }
  return root;
}

}  // namespace

std::vector<const Decoded*> Decoded::All(const std::string& field) const {
  std::vector<const Decoded*> found;
  for (const Decoded& each : fields)
    if (each.name == field) found.push_back(&each);
  return found;
}

const Decoded& Decoded::operator[](const std::string& field) const {
  static const Decoded kNone;
  const auto found = All(field);
  return found.empty() ? kNone : *found.front();
}

uint64_t Decoded::Number(const std::string& field) const {
  const std::string& text = (*this)[field].value;
  return text.empty() ? 0 : std::stoull(text);
}

std::string Decoded::Text(const std::string& field) const { return (*this)[field].text(); }

std::string Decoded::text() const {
  std::string result;
  for (size_t i = 1; i + 1 < value.size(); ++i) {
    if (value[i] != '\\') {
      result += value[i];
    } else if (std::isdigit(static_cast<unsigned char>(value[i + 1]))) {
      result += static_cast<char>(std::stoi(value.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      ++i;
      result += value[i] == 'n' ? '\n' : value[i] == 't' ? '\t' : value[i] == 'r' ? '\r' : value[i];
    }
  }
  return result;
}

std::string RunCommand(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  char piece[4096];
  while (size_t got = fread(piece, 1, sizeof piece, pipe)) output.append(piece, got);
  if (pclose(pipe) != 0) throw std::runtime_error("failed: " + command);
  return output;
}

Decoded Decode(const std::string& schema_file, const std::string& message, const std::string& bytes) {
  const ScopedTempDirectory directory;
  const std::string file = directory / "message";
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::filesystem::path schema = schema_file;
  return Parse(RunCommand("protoc --decode=" + message + " -I '" + schema.parent_path().string() + "' '" +
                          schema.filename().string() + "' < '" + file + "'"));
}

}  // namespace lagwatch::testing
