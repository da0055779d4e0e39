// SPDX-License-Identifier: Apache-2.0
// The time that the bindings of other platforms add to a message or a turn of the loop.
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
