// SPDX-License-Identifier: Apache-2.0
#include "collector/sentry/stack_writer.h"

#include <algorithm>
#include <vector>

#include "base/hash.h"
#include "collector/sentry/json_fields.h"
#include "report/format/report.h"

namespace lagwatch::collector {
namespace {

using nlohmann::json;

std::string FileNameOf(const json& frame) {
  const std::string path = TextOf(frame, "filename");
  return path.substr(path.find_last_of("/\\") + 1);
}

// The name in the symbol table, if the SDK sends it. Empty without a name: the SDK then writes one of these.
std::string FunctionOf(const json& frame) {
  std::string function = TextOf(frame, "symbol");
  if (function.empty()) function = TextOf(frame, "function");
  for (const char* unknown : {"?", "<unknown>", "<redacted>", "<anonymous>"})
    if (function == unknown) return "";
  return function;
}

// For languages whose functions are distinguished by their location: "com.example.Main.onClick",
// "index.js:render", "index.js:42".
std::string QualifiedName(const json& frame) {
  std::string function = FunctionOf(frame);
  // "<init>" and the like are no template arguments.
  if (function.starts_with('<') && function.ends_with('>'))
    function = function.substr(1, function.size() - 2);
  const std::string module = TextOf(frame, "module");
  if (!module.empty() && !function.empty()) return module + "." + function;
  const std::string file = FileNameOf(frame);
  if (!file.empty() && !function.empty()) return file + ":" + function;
  if (!function.empty()) return function;
  const auto line = NumberOf(frame, "lineno");
  return !file.empty() && line ? file + ":" + std::to_string(*line) : "";
}

// A place for a frame without one: the same for the same name in all reports.
uint64_t PlaceOf(const std::string& name) { return (base::HashBytes(name) & 0x7fff'ffff) | 1; }

// Whether the frames that others were called from have addresses that follow the call.
bool HasReturnAddresses(const json& stacktrace) {
  const std::string adjustment = TextOf(stacktrace, "instruction_addr_adjustment");
  return adjustment != "none";
}

}  // namespace

uint32_t StackWriter::Add(const json& stacktrace) {
  const bool has_return_addresses = HasReturnAddresses(stacktrace);
  const json& list = ValuesOf(stacktrace, "frames");
  const size_t count = std::min({list.size(), kMaxFramesOfAStack, kMaxFrames - frames_});
  std::vector<report::Frame> frames;
  for (size_t i = 0; i < count; ++i)  // the outermost comes first there, the innermost here
    frames.push_back(FrameOf(list[list.size() - 1 - i], has_return_addresses && i > 0));
  frames_ += count;
  const auto completeness = count == 0            ? report::Completeness::kNone
                            : count < list.size() ? report::Completeness::kCut
                                                  : report::Completeness::kComplete;
  return encoder_->AddStack(frames, completeness);
}

report::Frame StackWriter::FrameOf(const json& frame, bool is_return_address) {
  const auto address = AddressOf(frame, "instruction_addr");
  const uint64_t at = address.value_or(0) - (is_return_address && address.value_or(0) > 0 ? 1 : 0);
  const DebugImage* image = address ? images_.Find(at) : nullptr;
  const std::string name = address ? FunctionOf(frame) : QualifiedName(frame);
  report::Frame place{report::kNoModule, address ? at : name.empty() ? 0 : PlaceOf(name), 0};
  if (image != nullptr) {
    place.module = ModuleOf(image->path, image->build_id, image->load_bias);
    place.offset = at - image->load_bias;
    const uint64_t begin = AddressOf(frame, "symbol_addr").value_or(0);
    if (begin >= image->begin && begin <= at) place.function_offset = begin - image->load_bias;
  } else if (const std::string package = TextOf(frame, "package"); !package.empty()) {
    place.module = ModuleOf(package, "", 0);
  }
  if (!name.empty()) function_names_.emplace(std::pair(place.module, place.symbol_offset()), name);
  return place;
}

uint32_t StackWriter::ModuleOf(const std::string& path, const std::string& build_id, uint64_t load_bias) {
  const auto [known, is_new] = modules_.try_emplace({path, load_bias}, 0);
  if (is_new) known->second = encoder_->AddModule(path, build_id, load_bias);
  return known->second;
}

void StackWriter::AppendSymbols(std::string* encoded_report) const {
  for (const auto& [place, name] : function_names_)
    report::AppendSymbol({place.first, place.second, name}, encoded_report);
}

}  // namespace lagwatch::collector
