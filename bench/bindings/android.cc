// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/bindings/bindings.h"
#include "tests/testing/process.h"
#include "tests/testing/temp_directory.h"

namespace lagwatch::bench {

std::vector<Figure> MeasureAndroid() {
  double added_ns = -1;
  double printer_ns = -1;
  if (std::string(LAGWATCH_JAVA) != "") {
    testing::ScopedTempDirectory directory;
    testing::Process java({LAGWATCH_JAVA, "--enable-native-access=ALL-UNNAMED", "-XX:+UseSerialGC",
                           "-Djava.library.path=" LAGWATCH_ANDROID_LIBRARIES,
                           "-Dandroid.files=" + (directory / "files"), "-cp", LAGWATCH_ANDROID_CLASSES,
                           "org.lagwatch.host.MessageBench", directory / "spool"});
    const bool is_measured =
        java.Wait() == 0 && std::sscanf(java.Output().c_str(), "%lf %lf", &added_ns, &printer_ns) == 2;
    if (!is_measured) std::fprintf(stderr, "%s%s", java.Output().c_str(), java.Errors().c_str());
  }
  return {{"android_message_added_ns", added_ns}, {"android_empty_printer_added_ns", printer_ns}};
}

}  // namespace lagwatch::bench
