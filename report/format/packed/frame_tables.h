// SPDX-License-Identifier: Apache-2.0
// Modules, functions, frames and stacks of all reports of a batch, each once:
//
// modules: as in Report.
//
// functions: of a module (its place plus 1, or 0), their starts, and their names as in Symbols; one whose
// start is unknown stands for a single place.
//
// frames: a function (0: the first that no frame had so far; else how far back) and the distance
// from its start.
//
// nodes: a tree of calls: the caller (how far back before the node just before; past the first: none) and the
// frame (0: the first that no node had so far; else how far back).
//
// A stack is its innermost node. A report says which of the modules it has, and that its symbols are those of
// its frames, in the order in which NameFrames() finds them. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/format/packed/message.h"

namespace lagwatch::report::packed {

// One way or the other.
struct TableFunction {
  uint64_t module = 0;  // place plus 1
  bool is_start_unknown = false;
  uint64_t start = 0;
  std::string_view name = {};
  size_t symbol = SIZE_MAX;  // one for all with this module and start: a Symbol does not distinguish them
};
// The place of a frame in its function.
struct TablePlace {
  size_t function = 0;
  uint64_t distance = 0;
};
struct TableNode {
  size_t parent = SIZE_MAX;  // of an outermost frame
  size_t frame = 0;
};

class FrameTables {
 public:
  // --- packing

  // Takes the report's modules and stacks out of it. Leaves one alone whose references make no sense.
  void Take(Message* report);
  // After all were taken: takes the symbols out of one of them, if they are those of the tables.
  void TakeSymbols(Message* report) const;
  // The parts that were taken.
  Message ToMessage() const;

  // --- unpacking

  FrameTables() = default;
  // Throws SchemaError when it makes no sense.
  explicit FrameTables(Message* tables);
  // Puts all back. `frames_left` is how many frames all reports may still have; throws when it is not enough.
  void Restore(Message* report, size_t* frames_left) const;

 private:
  using ModuleKey = std::tuple<std::string_view, std::string_view, uint64_t>;

  bool CanTake(Message* report) const;
  size_t TakeModule(Message* module);
  uint64_t TakeStack(Message* stack, const std::vector<size_t>& modules);
  size_t TakeFrame(uint64_t module, uint64_t offset, uint64_t function_offset);
  void RestoreStack(Message* stack, size_t* frames_left) const;
  void AddFunction(TableFunction function);
  // Of the report's stacks, by their nodes.
  Messages SymbolsOf(Message* report) const;

  std::vector<ModuleKey> modules_;
  std::vector<TableFunction> functions_;
  std::vector<TablePlace> frames_;
  std::vector<TableNode> nodes_;
  std::map<std::pair<uint64_t, uint64_t>, size_t> symbol_places_;  // by a function's module and start

  // Unpacking only: by the place in modules_ plus 1, that in the report at hand plus 1; 0 when it has none.
  mutable std::vector<uint64_t> local_modules_;

  // Packing only.
  std::map<ModuleKey, size_t> module_places_;
  std::map<std::tuple<uint64_t, bool, uint64_t>, size_t> function_places_;
  std::map<std::pair<size_t, uint64_t>, size_t> frame_places_;
  std::map<std::pair<size_t, size_t>, size_t> node_places_;
};

}  // namespace lagwatch::report::packed
