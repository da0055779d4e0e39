// SPDX-License-Identifier: Apache-2.0
// Writes what is made from the tables: the public headers' options, the schema's verdicts, tables of
// documents, lists of the page. Or checks that they are up to date. For lagwatch's own developers.
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "tools/schema/documents.h"

namespace {

namespace fs = std::filesystem;

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view mode = argc == 3 ? argv[1] : "";
  if (mode != "--write" && mode != "--check") {
    std::cerr << "usage: lagwatch-schema --write|--check REPOSITORY\n";
    return 2;
  }
  std::vector<lagwatch::tools::Document> documents;
  for (const auto& some : {lagwatch::tools::OptionDocuments(), lagwatch::tools::BindingDocuments(),
                           lagwatch::tools::ProtoDocuments(), lagwatch::tools::VerdictDocuments(),
                           lagwatch::tools::FormatDocuments(), lagwatch::tools::ApiDocuments(argv[2]),
                           lagwatch::tools::CommandDocuments()})
    documents.insert(documents.end(), some.begin(), some.end());
  bool is_stale = false;
  for (const auto& document : documents) {
    const fs::path path = fs::path(argv[2]) / document.path;
    const std::string before = Read(path);
    const std::string text = document.make(before);
    if (text == before) continue;
    if (mode == "--write") {
      std::ofstream(path) << text;
    } else {
      std::cerr << path.string() << " differs from " << document.table << ": lagwatch-schema --write .\n";
      is_stale = true;
    }
  }
  return is_stale ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << "lagwatch-schema: " << error.what() << "\n";
  return 1;
}
