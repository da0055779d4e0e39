// SPDX-License-Identifier: Apache-2.0
// write_traces DIRECTORY: the traces that the tests in a browser are about, in every format.
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/trace/export/sample_trace.h"
#include "trace/export/export.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::pair<const char*, lagwatch::trace::Trace> traces[] = {
      {"sample", lagwatch::testing::MakeSampleTrace()},
      {"hostile", lagwatch::testing::MakeHostileTrace()},
      {"long", lagwatch::testing::MakeLongTrace(20'000)},
  };
  for (const auto& [name, trace] : traces) {
    for (const auto& info : lagwatch::trace::Formats()) {
      const auto file = lagwatch::trace::Export(info.format, trace);
      if (!file.ok()) return 1;
      std::ofstream(std::string(argv[1]) + "/" + name + std::string(info.suffix), std::ios::binary)
          .write(file->data(), static_cast<std::streamsize>(file->size()));
    }
  }
  return 0;
}
