// SPDX-License-Identifier: Apache-2.0
// Names a report's frames by symbol files. Context: background. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collector/symbols/names/frame_names.h"
#include "collector/symbols/names/symbolizer.h"
#include "report/format/report.h"

namespace lagwatch::collector {

class SymbolNamer final : public FrameNamer {
 public:
  // Looks up all frames of the report's stacks; takes as long as the symbolizer does. Frames without a file
  // keep the client's names. Frames of Java get the names that they had before R8 or ProGuard. Borrows
  // `report`, which must outlive this; `symbolizer` may be null.
  SymbolNamer(const report::Report& report, Symbolizer* symbolizer);

  std::vector<NamedFrame> NamesOf(const report::Frame& frame) const override;

  // Some module could not be looked up now, but may be later.
  bool is_unavailable() const { return is_unavailable_; }

 private:
  using ModuleOffset = std::pair<uint32_t, uint64_t>;  // a frame's module and offset

  struct JavaPlace {
    CodePlace code;
    std::string file;  // as the client knew it
  };
  using JavaPlaces = std::map<ModuleOffset, JavaPlace>;

  void NameModules(Symbolizer* symbolizer);
  void NameJava(Symbolizer* symbolizer);
  JavaPlaces FindJavaPlaces() const;

  const report::Report& report_;
  FrameNames names_;
  std::map<ModuleOffset, std::vector<NamedFrame>> sources_;
  bool is_unavailable_ = false;
};

}  // namespace lagwatch::collector
