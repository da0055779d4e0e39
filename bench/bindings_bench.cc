// SPDX-License-Identifier: Apache-2.0
// Measures the time that the bindings of other platforms add to a message or a turn of the loop that they
// watch, against the same loop without them: android_message_added_ns (a JVM over AOSP's native Looper);
// any printer costs android_empty_printer_added_ns of these; gnustep_turn_added_ns (the Apple binding
// on GNUstep), to a turn of gnustep_turn_ns without it. Null where libutils, a JDK or GNUstep is missing.
#include <cstdio>
#include <utility>
#include <vector>

#include "bench/bindings/bindings.h"

int main() {
  using namespace lagwatch::bench;
  std::vector<Figure> figures = MeasureAndroid();
  for (Figure& figure : MeasureGnustep()) figures.push_back(std::move(figure));
  const char* separator = "{";
  for (const Figure& figure : figures) {
    std::printf("%s\"%s\": ", separator, figure.name.c_str());
    if (figure.ns < 0) {
      std::printf("null");
    } else {
      std::printf("%.0f", figure.ns);
    }
    separator = ", ";
  }
  std::printf("}\n");
}
