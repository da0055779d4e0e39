// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/frame_tables.h"

#include <algorithm>
#include <set>

#include "report/format/protozero_checked.h"

namespace lagwatch::report::packed {
namespace {

uint64_t At(const Numbers& numbers, size_t index) { return index < numbers.size() ? numbers[index] : 0; }

size_t FrameCount(Message* stack) {
  return std::max({stack->numbers(stack_place::kModule).size(), stack->numbers(stack_place::kOffset).size(),
                   stack->numbers(stack_place::kFunctionOffset).size()});
}

// The place of `key` in a table, which grows by it if it is new.
template <typename Map, typename Key>
std::pair<size_t, bool> PlaceIn(Map* places, const Key& key) {
  auto [found, is_new] = places->try_emplace(key, places->size());
  return {found->second, is_new};
}

// References to entries of a table in the order in which they are first named.
size_t ResolveBack(uint64_t back, size_t* seen_count) {
  if (back == 0) return (*seen_count)++;
  if (back > *seen_count) throw SchemaError{"a table refers to what is not there"};
  return *seen_count - back;
}
uint64_t BackTo(size_t place, size_t* seen_count) {
  if (place == *seen_count) {
    ++*seen_count;
    return 0;
  }
  return *seen_count - place;
}

}  // namespace

bool FrameTables::CanTake(Message* report) const {
  Messages& modules = report->messages(report_place::kModules);
  std::set<ModuleKey> distinct;
  for (Message& module : modules) {
    if (!module.unknown.empty()) return false;
    distinct.emplace(module.text(module_place::kPath), module.text(module_place::kBuildId),
                     module.number(module_place::kLoadBias));
  }
  if (distinct.size() != modules.size()) return false;
  for (Message& stack : report->messages(report_place::kStacks)) {
    for (uint64_t module : stack.numbers(stack_place::kModule)) {
      if (module > modules.size()) return false;
    }
  }
  return true;
}

void FrameTables::Take(Message* report) {
  if (!CanTake(report)) return;
  std::vector<size_t> modules;
  for (Message& module : report->messages(report_place::kModules)) modules.push_back(TakeModule(&module));
  for (Message& stack : report->messages(report_place::kStacks)) {
    stack.number(stack_place::kNode) = TakeStack(&stack, modules);
    for (size_t place : {stack_place::kModule, stack_place::kOffset, stack_place::kFunctionOffset}) {
      stack.numbers(place).clear();
    }
  }
  for (Message& symbol : report->messages(report_place::kSymbols)) {
    const uint64_t module = symbol.number(symbol_place::kModule);
    if (module == 0 || module > modules.size()) continue;
    for (bool is_start_unknown : {false, true}) {
      auto found = function_places_.find(
          {modules[module - 1] + 1, is_start_unknown, symbol.number(symbol_place::kFunctionOffset)});
      if (found == function_places_.end()) continue;
      TableFunction& function = functions_[found->second];
      if (function.name.empty()) function.name = symbol.text(symbol_place::kName);
    }
  }
  report->messages(report_place::kModules).clear();
  report->numbers(report_place::kTableModules).assign(modules.begin(), modules.end());
}

size_t FrameTables::TakeModule(Message* module) {
  ModuleKey key{module->text(module_place::kPath), module->text(module_place::kBuildId),
                module->number(module_place::kLoadBias)};
  auto [place, is_new] = PlaceIn(&module_places_, key);
  if (is_new) modules_.push_back(key);
  return place;
}

// The innermost node plus 1; 0 when it has no frames.
uint64_t FrameTables::TakeStack(Message* stack, const std::vector<size_t>& modules) {
  size_t node = SIZE_MAX;
  for (size_t i = FrameCount(stack); i-- > 0;) {
    const uint64_t module = At(stack->numbers(stack_place::kModule), i);
    const size_t frame =
        TakeFrame(module == 0 ? 0 : modules[module - 1] + 1, At(stack->numbers(stack_place::kOffset), i),
                  At(stack->numbers(stack_place::kFunctionOffset), i));
    auto [place, is_new] = PlaceIn(&node_places_, std::pair(node, frame));
    if (is_new) nodes_.push_back({node, frame});
    node = place;
  }
  return node + 1;
}

size_t FrameTables::TakeFrame(uint64_t module, uint64_t offset, uint64_t function_offset) {
  const bool is_start_unknown = function_offset == 0;
  const uint64_t start = is_start_unknown ? offset : function_offset;
  auto [function, is_new_function] = PlaceIn(&function_places_, std::tuple(module, is_start_unknown, start));
  if (is_new_function) AddFunction({module, is_start_unknown, start});
  auto [frame, is_new] = PlaceIn(&frame_places_, std::pair(function, offset - start));
  if (is_new) frames_.push_back({function, offset - start});
  return frame;
}

void FrameTables::AddFunction(TableFunction function) {
  function.symbol = PlaceIn(&symbol_places_, std::pair(function.module, function.start)).first;
  functions_.push_back(function);
}

void FrameTables::TakeSymbols(Message* report) const {
  Messages& symbols = report->messages(report_place::kSymbols);
  const Messages known = SymbolsOf(report);
  if (known.empty() || symbols != known) return;
  symbols.clear();
  report->number(report_place::kHasTableSymbols) = 1;
}

Messages FrameTables::SymbolsOf(Message* report) const {
  std::map<uint64_t, uint64_t> local_modules;
  for (uint64_t module : report->numbers(report_place::kTableModules)) {
    local_modules.emplace(module + 1, local_modules.size() + 1);
  }
  Messages symbols(report->memory());
  std::vector<bool> is_settled(functions_.size());  // by TableFunction::symbol
  for (Message& stack : report->messages(report_place::kStacks)) {
    for (size_t node = stack.number(stack_place::kNode) - 1; node != SIZE_MAX; node = nodes_[node].parent) {
      const TableFunction& function = functions_[frames_[nodes_[node].frame].function];
      if (function.name.empty() || is_settled[function.symbol]) continue;
      is_settled[function.symbol] = true;
      Message& symbol =
          symbols.emplace_back(report->spec->fields[report_place::kSymbols].message, report->memory());
      symbol.number(symbol_place::kModule) = local_modules[function.module];
      symbol.number(symbol_place::kFunctionOffset) = function.start;
      symbol.text(symbol_place::kName) = function.name;
    }
  }
  return symbols;
}

Message FrameTables::ToMessage() const {
  Message tables(&TablesSpec());
  auto add = [&](size_t table) -> Message& {
    return tables.messages(table).emplace_back(TablesSpec().fields[table].message);
  };
  for (const auto& [path, build_id, load_bias] : modules_) {
    Message& module = add(tables_place::kModules);
    module.text(module_place::kPath) = path;
    module.text(module_place::kBuildId) = build_id;
    module.number(module_place::kLoadBias) = load_bias;
  }
  for (const TableFunction& row : functions_) {
    Message& function = add(tables_place::kFunctions);
    function.number(function_place::kModule) = row.module;
    function.number(function_place::kIsStartUnknown) = row.is_start_unknown ? 1 : 0;
    function.number(function_place::kStart) = row.start;
    function.text(function_place::kName) = row.name;
  }
  size_t functions_seen = 0;
  for (const TablePlace& row : frames_) {
    Message& frame = add(tables_place::kFrames);
    frame.number(frame_place::kFunction) = BackTo(row.function, &functions_seen);
    frame.number(frame_place::kDistance) = row.distance;
  }
  size_t frames_seen = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Message& node = add(tables_place::kNodes);
    node.number(node_place::kParent) = i - 1 - nodes_[i].parent;
    node.number(node_place::kFrame) = BackTo(nodes_[i].frame, &frames_seen);
  }
  return tables;
}

FrameTables::FrameTables(Message* tables) {
  for (Message& module : tables->messages(tables_place::kModules)) {
    modules_.emplace_back(module.text(module_place::kPath), module.text(module_place::kBuildId),
                          module.number(module_place::kLoadBias));
  }
  for (Message& function : tables->messages(tables_place::kFunctions)) {
    AddFunction({function.number(function_place::kModule),
                 function.number(function_place::kIsStartUnknown) != 0,
                 function.number(function_place::kStart), function.text(function_place::kName)});
    if (functions_.back().module > modules_.size())
      throw SchemaError{"a function names a module that is not there"};
  }
  size_t functions_seen = 0;
  for (Message& frame : tables->messages(tables_place::kFrames)) {
    frames_.push_back({ResolveBack(frame.number(frame_place::kFunction), &functions_seen),
                       frame.number(frame_place::kDistance)});
  }
  size_t frames_seen = 0;
  for (Message& node : tables->messages(tables_place::kNodes)) {
    const size_t place = nodes_.size();
    if (node.number(node_place::kParent) > place) throw SchemaError{"a frame's caller is not there"};
    nodes_.push_back({place - 1 - node.number(node_place::kParent),
                      ResolveBack(node.number(node_place::kFrame), &frames_seen)});
  }
  if (functions_seen > functions_.size() || frames_seen > frames_.size()) {
    throw SchemaError{"a table refers to what is not there"};
  }
}

void FrameTables::Restore(Message* report, size_t* frames_left) const {
  local_modules_.resize(modules_.size() + 1);
  Messages& modules = report->messages(report_place::kModules);
  for (uint64_t place : report->numbers(report_place::kTableModules)) {
    if (place >= modules_.size()) throw SchemaError{"a report names a module that is not there"};
    Message& module =
        modules.emplace_back(report->spec->fields[report_place::kModules].message, report->memory());
    std::tie(module.text(module_place::kPath), module.text(module_place::kBuildId),
             module.number(module_place::kLoadBias)) = modules_[place];
    if (std::exchange(local_modules_[place + 1], modules.size()) != 0)
      throw SchemaError{"a module comes twice"};
  }
  for (Message& stack : report->messages(report_place::kStacks)) RestoreStack(&stack, frames_left);
  // Not all: a batch may have many more modules than its report.
  for (uint64_t place : report->numbers(report_place::kTableModules)) local_modules_[place + 1] = 0;
  if (report->number(report_place::kHasTableSymbols) == 0) return;
  Messages symbols = SymbolsOf(report);
  std::move(symbols.begin(), symbols.end(), std::back_inserter(report->messages(report_place::kSymbols)));
}

void FrameTables::RestoreStack(Message* stack, size_t* frames_left) const {
  const uint64_t innermost = stack->number(stack_place::kNode);
  if (innermost > nodes_.size()) throw SchemaError{"a stack is not there"};
  for (size_t node = innermost - 1; node != SIZE_MAX; node = nodes_[node].parent) {
    const TablePlace& frame = frames_[nodes_[node].frame];
    const TableFunction& function = functions_[frame.function];
    const uint64_t local = local_modules_[function.module];
    if (function.module != 0 && local == 0) throw SchemaError{"a stack's module is not the report's"};
    if ((*frames_left)-- == 0) throw SchemaError{"it holds more than one request may"};
    stack->numbers(stack_place::kModule).push_back(local);
    stack->numbers(stack_place::kOffset).push_back(function.start + frame.distance);
    stack->numbers(stack_place::kFunctionOffset).push_back(function.is_start_unknown ? 0 : function.start);
  }
}

}  // namespace lagwatch::report::packed
