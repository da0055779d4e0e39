// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/go/layout.h"

#include <algorithm>
#include <iterator>

namespace lagwatch::stack::go {
namespace {

// 1.20, 1.23, 1.25 and 1.27 were not measured.
constexpr Layout kLayouts[] = {
    {19, 48, 56, 64, 112, 120, 144, 152, 189, 232, 328, 312, 72, 192, 352, 24, 80},
    {21, 48, 56, 64, 112, 120, 144, 152, 188, 208, 312, 296, 72, 192, 352, 24, 80},
    {22, 48, 56, 64, 112, 120, 144, 152, 191, 208, 312, 296, 72, 192, 344, 24, 80},
    {24, 48, 56, 64, 112, 120, 152, 160, 199, 216, 320, 304, 72, 192, 344, 24, 80},
    {26, 48, 56, 64, 104, 112, 144, 152, 191, 208, 320, 304, 64, 184, 384, 32, 96},
};

}  // namespace

const Layout* FindLayout(uint32_t minor_version) {
  const auto* layout = std::ranges::find(kLayouts, minor_version, &Layout::minor_version);
  return layout == std::end(kLayouts) ? nullptr : layout;
}

}  // namespace lagwatch::stack::go
