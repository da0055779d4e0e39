// SPDX-License-Identifier: Apache-2.0
#include "collector/cluster/named_stacks.h"

#include <algorithm>

#include "base/process/own_names.h"
#include "collector/symbols/names/remembered.h"

namespace lagwatch::collector {
namespace {

bool IsLibrary(std::string_view file_name) {
  return file_name.find(".so") != file_name.npos || file_name.ends_with(".dylib");
}

// The first file of the report that is a program; empty when none is.
std::string_view ProgramPath(const report::Report& report) {
  for (const report::Module& module : report.modules) {
    const bool is_framework = module.path.find(".framework/") != module.path.npos;
    if (module.path.starts_with('/') && !is_framework && !IsLibrary(BaseName(module.path)))
      return module.path;
  }
  return {};
}

// "express" of "next (express/lib/router.js)", "shop.js" of "price (shop.js)", "org.json" of
// "org.json.JSONObject.put", "net/http" of "net/http.Get"; of a scope, the name of its first file's folder.
std::string PackageOfScript(std::string_view readable, std::string_view module) {
  const size_t begin = readable.rfind(" (");
  if (begin != readable.npos && readable.ends_with(')')) {
    const std::string_view file = readable.substr(begin + 2, readable.size() - begin - 3);
    if (file.starts_with('/') || file.starts_with('<')) return std::string(file);
    const size_t scope = file.starts_with('@') ? file.find('/') : 0;
    return std::string(file.substr(0, file.find('/', scope == file.npos ? 0 : scope + 1)));
  }
  if (module == "[go]") {
    const size_t folder = readable.rfind('/');
    return std::string(readable.substr(0, readable.find('.', folder == readable.npos ? 0 : folder)));
  }
  const size_t method = readable.rfind('.');
  const size_t type =
      method == readable.npos || method == 0 ? readable.npos : readable.rfind('.', method - 1);
  return std::string(type == readable.npos ? module : readable.substr(0, type));
}

// Whether a function of that role says where a stack is.
bool IsTold(policies::FrameRole role) {
  return role != policies::FrameRole::kSkipped && role != policies::FrameRole::kSignal;
}

// Whether all samples are of the one dispatch that lasted too long.
bool IsOneDispatch(report::HangKind kind) {
  switch (kind) {
    case report::HangKind::kBusyLoop:
    case report::HangKind::kWaited:
    case report::HangKind::kCpu:
    case report::HangKind::kCpuAverage:
    case report::HangKind::kDump:
    case report::HangKind::kSlow:
      return false;
    default:
      return true;
  }
}

}  // namespace

NamedStacks::NamedStacks(const report::Report& report, const FrameNamer& namer,
                         const policies::ClusterRules& rules)
    : report_(report), namer_(namer), rules_(rules), program_files_([&] {
        // The libraries of an interpreter are not those of the scripts.
        const std::string_view path = ProgramPath(report);
        return policies::ProgramFiles(rules.IsInterpreter(BaseName(path)) ? std::string_view{} : path);
      }()) {}

// Lists of names know a library wherever a program brings it along.
bool NamedStacks::IsOfLibrary(std::string_view path) const {
  const std::string_view file = BaseName(path);
  if (rules_.IsInterpreter(file)) return true;
  return IsLibrary(file) && (rules_.IsLibrary(file) || (rules_.IsLibrary(path) && !program_files_.Has(path)));
}

// All stacks of Go have some of its run time's functions.
bool NamedStacks::IsOfGo() const {
  if (is_of_go_) return *is_of_go_;
  const auto has_runtime = [&](const report::Frame& frame) {
    return std::ranges::any_of(namer_.NamesOf(frame), [](const NamedFrame& name) {
      return name.origin != NameOrigin::kScript && name.function.starts_with("runtime.");
    });
  };
  is_of_go_ = std::ranges::any_of(report_.stacks[report_.expensive_stack].frames, has_runtime);
  return *is_of_go_;
}

NamedStacks::NamedFunction NamedStacks::ToFunction(NamedFrame named, std::string_view path) const {
  const std::string_view file = BaseName(path);
  const bool is_symbol = named.origin != NameOrigin::kPlace;
  const bool is_script = named.origin == NameOrigin::kScript;
  NamedFunction function{.name = named.function,
                         .readable = std::move(named.function),
                         .is_symbol = is_symbol,
                         .is_inside_library = !is_symbol && IsLibrary(file),
                         .is_script = is_script,
                         .role = {}};
  if (is_symbol && !is_script) function.name = Remembered<CauseName>(function.readable);
  if (function.is_inside_library) function.name = CauseModule(file);
  // A program may have the name of a library, or of a package of scripts.
  function.role = rules_.RoleOf(function.name, program_files_.IsProgram(path) ? std::string_view{} : file);
  bool is_of_library = !is_script && IsOfLibrary(path);
  // Rules name a method by its class alone, or all functions of a script's file.
  if (is_script && function.role == policies::FrameRole::kSignificant) {
    const std::string_view name = function.name;
    const size_t end = std::min(name.rfind(" ("), name.size());
    std::string_view script = name.substr(std::min(end + 2, name.size()));
    if (script.ends_with(')')) script.remove_suffix(1);
    function.role = rules_.RoleOf(name.substr(0, end), script.empty() ? file : script);
    is_of_library |= rules_.IsLibrary(script) || (path == "[go]" && rules_.IsPackage(name));
  }
  is_of_library |= !is_script && rules_.IsLibrary(function.name);
  is_of_library |= !is_script && rules_.IsPackage(function.name) && IsOfGo();
  if (is_of_library && function.role == policies::FrameRole::kSignificant)
    function.role = policies::FrameRole::kLibrary;
  return function;
}

const NamedStacks::FrameFunctions& NamedStacks::FunctionsOf(const report::Frame& frame) const {
  auto [known, is_new] = named_.try_emplace({frame.module, frame.offset, frame.function_offset});
  FrameFunctions& functions = known->second;
  if (is_new) {
    std::string_view path;
    if (frame.module != report::kNoModule) path = report_.modules[frame.module].path;
    functions.file = BaseName(path);
    for (NamedFrame& named : namer_.NamesOf(frame)) {
      if (!base::IsOwnFunctionName(named.function))
        functions.innermost_first.push_back(ToFunction(std::move(named), path));
    }
  }
  return functions;
}

// From the outermost frame on, so that a library's function without a name counts as the named one of that
// library that called it; where there is none, as the library. A script is the cause of
// all that it calls in native libraries and in its run time.
std::vector<policies::ClusterFunction> NamedStacks::FramesOf(const report::Stack& stack) const {
  std::vector<policies::ClusterFunction> frames;
  frames.reserve(stack.frames.size());
  std::string_view caller_file;
  bool is_called_by_script = false;
  for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
    const FrameFunctions& named = FunctionsOf(*frame);
    for (auto name = named.innermost_first.rbegin(); name != named.innermost_first.rend(); ++name) {
      if (name->is_inside_library && named.file == caller_file) continue;
      frames.push_back({name->name, name->role});
      caller_file = named.file;
      if (name->is_script) {
        is_called_by_script |= policies::IsNameable(name->role);
      } else if (is_called_by_script && (IsLibrary(named.file) || rules_.IsInterpreter(named.file))) {
        frames.back().role = policies::FrameRole::kSkipped;
      }
    }
  }
  std::reverse(frames.begin(), frames.end());
  return frames;
}

std::vector<std::string_view> NamedStacks::SignificantNamesOf(const report::Stack& stack) const {
  return policies::SignificantNames(FramesOf(stack));
}

std::vector<policies::SeenNames> NamedStacks::SampleNames(bool are_own) const {
  std::map<uint32_t, policies::SeenNames> known;
  std::vector<policies::SeenNames> seen;
  const report::Sample* last = nullptr;
  for (const report::Sample& sample : report_.samples) {
    if (last != nullptr && last->stack == sample.stack) {
      ++seen.back().count;
      continue;
    }
    last = &sample;
    auto [names, is_new] = known.try_emplace(sample.stack);
    if (is_new) {
      const auto frames = FramesOf(report_.stacks[sample.stack]);
      names->second.is_cut = !policies::ReachesEnd(frames);
      if (!are_own || policies::HasOwnNames(frames) || !names->second.is_cut)
        names->second.names = policies::SignificantNames(frames);
    }
    seen.push_back(names->second);
  }
  return seen;
}

std::pair<std::vector<std::string_view>, bool> NamedStacks::MostSeenNames() const {
  std::map<uint32_t, size_t> counts;
  for (const report::Sample& sample : report_.samples) ++counts[sample.stack];
  std::vector<std::string_view> names;
  bool are_own = false;
  size_t most = 0;
  for (const auto& [stack, count] : counts) {
    const auto frames = FramesOf(report_.stacks[stack]);
    const bool is_own = policies::HasOwnNames(frames);
    if (is_own < are_own || (is_own == are_own && count <= most)) continue;
    auto candidate = policies::SignificantNames(frames);
    if (candidate.empty()) continue;
    names = std::move(candidate);
    are_own = is_own;
    most = count;
  }
  return {std::move(names), are_own};
}

std::vector<std::string> NamedStacks::CauseNames() const {
  const report::Stack& expensive = report_.stacks[report_.expensive_stack];
  const auto frames = FramesOf(expensive);
  std::vector<std::string_view> names = policies::SignificantNames(frames);
  if (IsOneDispatch(report_.kind)) {
    bool are_own = policies::HasOwnNames(frames);
    if (names.empty() || (!are_own && !policies::ReachesEnd(frames))) {
      if (auto [seen, is_own] = MostSeenNames(); !seen.empty()) {
        names = std::move(seen);
        are_own = is_own;
      }
    }
    const auto samples = SampleNames(are_own);
    names = policies::WithoutPassingNames(std::move(names), samples);
    if (!policies::ReachesEnd(frames)) names = policies::WithCallersOf(std::move(names), samples);
  }
  if (names.empty()) names = policies::NameOfTheRest(frames);
  return {names.begin(), names.end()};
}

std::string NamedStacks::FindVia(const std::vector<std::string>& cause) const {
  std::string via;
  for (const report::Frame& frame : report_.stacks[report_.expensive_stack].frames) {
    for (const NamedFunction& name : FunctionsOf(frame).innermost_first) {
      if (!name.is_symbol) continue;
      if (std::ranges::find(cause, name.name) != cause.end()) return "";
      if (via.empty() && IsTold(name.role)) via = name.readable;
    }
  }
  return via;
}

std::optional<std::string> NamedStacks::CallerOfLoop(const report::Stack& stack) const {
  const auto names = SignificantNamesOf(stack);
  if (names.empty()) return std::nullopt;
  for (const report::Frame& frame : stack.frames) {
    for (const NamedFunction& name : FunctionsOf(frame).innermost_first)
      if (name.name == names.front()) return name.readable;
  }
  return std::nullopt;
}

std::string NamedStacks::PlaceOf(const report::Stack& stack) const {
  for (const report::Frame& frame : stack.frames) {
    for (const NamedFunction& name : FunctionsOf(frame).innermost_first) {
      if (name.is_script && name.role == policies::FrameRole::kSignificant) return name.readable;
    }
  }
  for (const report::Frame& frame : stack.frames) {
    for (const NamedFunction& name : FunctionsOf(frame).innermost_first) {
      if (name.is_inside_library || !IsTold(name.role)) continue;
      // A call that waits in a loop of its own is its caller's.
      if (name.role == policies::FrameRole::kLoop) return CallerOfLoop(stack).value_or(name.readable);
      return name.readable;
    }
  }
  for (const report::Frame& frame : stack.frames) {
    const FrameFunctions& named = FunctionsOf(frame);
    if (!named.innermost_first.empty()) return named.innermost_first.front().readable;
  }
  return "";
}

std::vector<NamedStacks::FrameFunction> NamedStacks::DescribeFrame(const report::Frame& frame) const {
  std::string_view path;
  if (frame.module != report::kNoModule) path = report_.modules[frame.module].path;
  const FrameFunctions& functions = FunctionsOf(frame);
  std::vector<FrameFunction> described;
  for (const NamedFunction& function : functions.innermost_first) {
    described.push_back({.is_own = function.role == policies::FrameRole::kSignificant,
                         .package = function.is_script ? PackageOfScript(function.readable, path)
                                                       : std::string(functions.file)});
  }
  return described;
}

std::vector<std::string> NamedStacks::HolderNames() const {
  if (report_.waits.empty()) return {};
  const bool is_deadlock = report_.wait_outcome == report::WaitOutcome::kDeadlock;
  const report::Wait& wait = is_deadlock ? report_.waits.front() : report_.waits.back();
  if (wait.lock.waits_for != report::WaitsFor::kOwner || wait.owner_stack == report::kNoStack) return {};
  const std::vector<std::string_view> names = SignificantNamesOf(report_.stacks[wait.owner_stack]);
  return {names.begin(), names.end()};
}

}  // namespace lagwatch::collector
