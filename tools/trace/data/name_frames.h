// SPDX-License-Identifier: Apache-2.0
// Gives a trace's frames the ids, names, files and lines that this machine's files know. Context: background.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/status.h"
#include "stack/elf/local_symbols.h"
#include "tools/local_symbols/local_symbolizer.h"
#include "trace/model/trace.h"

namespace lagwatch::tools {

// Remembers found and missing names, for traces of the same modules.
class FrameNamer {
 public:
  // With `asks_debuginfod` as LocalSymbolizer::Create says. Errors: its.
  static base::Result<std::unique_ptr<FrameNamer>> Create(bool asks_debuginfod = false);

  // Frames that have names keep them; frames of unknown places get none. `progress` is called now and then
  // with the number of frames done and of all frames; may be empty.
  void Name(trace::Trace* trace, const std::function<void(size_t, size_t)>& progress = {});

  // As LocalSymbolizer's.
  std::vector<std::string> TakeNotes() { return symbolizer_->TakeNotes(); }

 private:
  struct Known {
    std::string name;  // empty: there is none
    uint64_t id = 0;
  };
  const Known& Find(const trace::Module& module, uint64_t offset);

  explicit FrameNamer(std::unique_ptr<LocalSymbolizer> symbolizer) : symbolizer_(std::move(symbolizer)) {}

  std::unique_ptr<LocalSymbolizer> symbolizer_;
  stack::LocalSymbols symbols_;  // for ids, and for modules without a build id
  std::map<std::tuple<std::string, std::string, uint64_t>, Known> known_;
};

}  // namespace lagwatch::tools
