// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/names/symbol_namer.h"

#include <algorithm>

#include "collector/symbols/mapping/mapping_id.h"
#include "collector/symbols/names/function_name.h"
#include "collector/symbols/names/remembered.h"

namespace lagwatch::collector {
namespace {

std::string_view WithoutFile(std::string_view name) { return name.substr(0, name.rfind(" (")); }

// The file that a class is in unless a mapping says otherwise: "org.shop.Cart$1.add" is in "Cart.java".
std::string SourceFileOf(std::string_view function) {
  std::string_view type = function.substr(0, function.rfind('.'));
  type.remove_prefix(type.rfind('.') + 1);
  return std::string(type.substr(0, type.find('$', 1))) + ".java";
}

// The frames that a mapping has for one, as names of scripts are. `file` is the one that the client knew.
std::vector<NamedFrame> Retraced(std::vector<NamedFrame> frames, const std::string& file) {
  std::erase_if(frames, [](const NamedFrame& frame) { return frame.function.empty(); });
  for (NamedFrame& frame : frames) {
    if (frame.file.empty())
      frame.file = !frame.is_inlined && IsSourceFileName(file) ? file : SourceFileOf(frame.function);
    frame.function += " (" + frame.file + ")";
    frame.origin = NameOrigin::kScript;
  }
  return frames;
}

}  // namespace

SymbolNamer::SymbolNamer(const report::Report& report, Symbolizer* symbolizer)
    : report_(report), names_(report) {
  if (symbolizer == nullptr) return;
  NameModules(symbolizer);
  NameJava(symbolizer);
}

void SymbolNamer::NameModules(Symbolizer* symbolizer) {
  std::map<uint32_t, std::vector<CodePlace>> places_of_module;
  for (const report::Stack& stack : report_.stacks) {
    for (const report::Frame& frame : stack.frames) {
      if (frame.module != report::kNoModule) places_of_module[frame.module].push_back(frame.offset);
    }
  }
  for (auto& [module, places] : places_of_module) {
    const std::string& build_id = report_.modules[module].build_id;
    if (build_id.empty()) continue;
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    symbolizer->NoteModule(build_id, report_.modules[module].path);
    auto frames = symbolizer->Symbolize(build_id, places);
    is_unavailable_ |= frames.status().code() == base::StatusCode::kUnavailable;
    if (!frames.ok()) continue;
    for (size_t i = 0; i < places.size(); ++i) {
      std::erase_if((*frames)[i], [](const NamedFrame& source) { return source.function.empty(); });
      if (!(*frames)[i].empty()) sources_[{module, places[i].number}] = std::move((*frames)[i]);
    }
  }
}

void SymbolNamer::NameJava(Symbolizer* symbolizer) {
  const std::vector<std::string> mapping_ids = MappingIdsOf(report_);
  if (mapping_ids.empty()) return;
  const JavaPlaces places = FindJavaPlaces();
  std::vector<CodePlace> wanted;
  for (const auto& [place, java] : places) wanted.push_back(java.code);
  for (const std::string& mapping_id : mapping_ids) {
    auto frames = symbolizer->Symbolize(mapping_id, wanted);
    is_unavailable_ |= frames.status().code() == base::StatusCode::kUnavailable;
    if (!frames.ok()) continue;
    size_t i = 0;
    for (const auto& [place, java] : places) {
      if (!(*frames)[i].empty()) sources_[place] = Retraced(std::move((*frames)[i]), java.file);
      ++i;
    }
    return;
  }
}

SymbolNamer::JavaPlaces SymbolNamer::FindJavaPlaces() const {
  JavaPlaces places;
  for (const report::Stack& stack : report_.stacks) {
    for (const report::Frame& frame : stack.frames) {
      if (frame.module == report::kNoModule || report_.modules[frame.module].path != kJavaModule) continue;
      const NamedFrame known = names_.NameOf(frame);
      if (known.origin != NameOrigin::kScript) continue;
      places.try_emplace({frame.module, frame.offset}, JavaPlace{{std::string(WithoutFile(known.function)),
                                                                  frame.offset - frame.symbol_offset()},
                                                                 known.file});
    }
  }
  return places;
}

std::vector<NamedFrame> SymbolNamer::NamesOf(const report::Frame& frame) const {
  const auto known = sources_.find({frame.module, frame.offset});
  if (known == sources_.end()) return {names_.NameOf(frame)};
  std::vector<NamedFrame> names = known->second;
  for (NamedFrame& name : names) {
    if (name.origin == NameOrigin::kSymbolFile)
      name.function = Remembered<ReadableFunctionName>(name.function);
  }
  return names;
}

}  // namespace lagwatch::collector
