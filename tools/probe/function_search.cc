// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/function_search.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <tuple>

#include "base/command_line/nearest_word.h"
#include "collector/symbols/names/function_name.h"
#include "stack/elf/elf_file.h"
#include "stack/elf/sdt_notes.h"
#include "tools/read/table.h"
#include "trace/instrument/rules/function_names.h"

namespace lagwatch::tools {
namespace {

using probe::PatternKind;
using probe::Place;
using probe::PlaceKind;
using sdk::ProbeSiteAt;

bool IsMangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R") || name.starts_with("_D");
}

std::string Readable(const std::string& name) {
  return IsMangled(name) ? collector::ReadableFunctionName(name) : name;
}

std::string WholeName(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

bool IsGlob(std::string_view name) { return name.find_first_of("*?") != std::string_view::npos; }

// Whether names are those that a place means.
class NamePattern {
 public:
  static base::Result<NamePattern> Of(const Place& place) {
    NamePattern pattern(place);
    if (place.pattern != PatternKind::kRegex) return pattern;
    try {
      pattern.regex_.emplace(place.name, std::regex::ECMAScript | std::regex::optimize);
    } catch (const std::regex_error& error) {
      return base::Status(base::StatusCode::kInvalid,
                          "/" + place.name + "/ is no regular expression: " + error.what());
    }
    return pattern;
  }
  // Whether it means one function, whatever the file.
  bool is_plain() const {
    return place_.pattern == PatternKind::kQuoted || (!regex_ && !IsGlob(place_.name));
  }

  bool Matches(const ModuleFunction& function) const {
    if (function.name == place_.name) return true;
    if (regex_) return std::regex_search(Readable(function.name), *regex_);
    if (place_.pattern == PatternKind::kQuoted)
      return IsMangled(function.name) && WholeName(function.name) == place_.name;
    if (!IsGlob(place_.name)) return MayBe(function.name) && IsCalled(Readable(function.name));
    return trace::MatchesGlob(place_.name, function.name) ||
           (IsMangled(function.name) && trace::MatchesGlob(place_.name, Readable(function.name)));
  }

 private:
  explicit NamePattern(const Place& place) : place_(place) {}

  // Scripts need not say that a function is one file's own.
  bool IsCalled(const std::string& readable) const {
    constexpr std::string_view kOwn = "(anonymous namespace)::";
    if (readable == place_.name) return true;
    std::string name = readable;
    for (size_t at = name.find(kOwn); at != std::string::npos; at = name.find(kOwn))
      name.erase(at, kOwn.size());
    return name == place_.name;
  }

  // The last part of a name is in its mangled form, too.
  bool MayBe(const std::string& mangled) const {
    const size_t at = place_.name.rfind(':');
    const std::string_view last = std::string_view(place_.name).substr(at == std::string::npos ? 0 : at + 1);
    return IsMangled(mangled) && (last.find_first_of("<~") != std::string_view::npos ||
                                  last.starts_with("operator") || mangled.find(last) != std::string::npos);
  }

  const Place& place_;
  std::optional<std::regex> regex_;
};

std::string_view FileNameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsLoader(std::string_view file_name) { return file_name.starts_with("ld-linux"); }

ProbeSiteAt SiteOf(const ProcessModule& module, const ModuleFunction& function, uint16_t probe) {
  return {.probe = probe,
          .role = sdk::SiteRole::kFunction,
          .build_id = module.build_id(),
          .module = module.path(),
          .offset = function.offset,
          .name = Readable(function.name),
          .symbol = function.name,
          .is_chosen_at_load = function.is_chosen_at_load,
          .detail = {}};
}

std::string Location(const ProbeSiteAt& site) {
  return std::string(FileNameOf(site.module)) + "!" + site.name;
}

// The names that were perhaps meant, of these modules.
std::string Suggestion(const Place& place, ProcessFunctions* functions) {
  std::vector<std::string> names;
  for (ProcessModule& module : functions->modules()) {
    if (!module.IsCalled(place.module)) continue;
    for (const ModuleFunction& function : module.functions()) {
      // The others are too far by their lengths alone.
      const std::string name = Readable(function.name);
      const size_t size = place.name.size();
      if (name.size() * 3 < size * 2 || name.size() * 2 > size * 3 + 2) continue;
      names.push_back(name);
    }
  }
  const std::string nearest = base::NearestWord(place.name, names);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

base::Status NoSuchFile(const std::string& name, ProcessFunctions* functions) {
  std::vector<std::string> names;
  for (const ProcessModule& module : functions->modules()) {
    const std::string file(module.file_name());
    names.push_back(file.substr(0, file.find(".so")));
  }
  const std::string nearest = base::NearestWord(name, names);
  return {base::StatusCode::kNotFound, "the program has not loaded a file named '" + name + "'" +
                                           (nearest.empty() ? "" : "; did you mean '" + nearest + "'?")};
}

base::Status NoSuchFunction(const Place& place, ProcessFunctions* functions, DebugTypes* types) {
  const bool has_module = std::ranges::any_of(
      functions->modules(), [&](const ProcessModule& module) { return module.IsCalled(place.module); });
  if (!has_module) return NoSuchFile(place.module, functions);
  const std::vector<std::string> callers = types->CallersOfInlined(place.module, place.name);
  if (!callers.empty())
    return {base::StatusCode::kNotFound, "'" + place.name +
                                             "' has no code of its own: the compiler has put it into " +
                                             Join(callers, ", ") + "; probe these"};
  const std::string where =
      place.module.empty() ? "the program and its libraries have" : "'" + place.module + "' has";
  return {base::StatusCode::kNotFound, where + " no function '" + place.name + "'" +
                                           Suggestion(place, functions) +
                                           "; `lagwatch probe PID --functions 'PATTERN'` lists functions"};
}

// A plain name without a module: the program's own function, or the only library's.
base::Result<std::vector<ProbeSiteAt>> OfOneFile(std::vector<ProbeSiteAt> sites, const std::string& program) {
  std::set<std::string> modules;
  for (const ProbeSiteAt& site : sites) modules.insert(site.module);
  if (modules.size() <= 1) return sites;
  if (modules.contains(program)) {
    std::erase_if(sites, [&](const ProbeSiteAt& site) { return site.module != program; });
    return sites;
  }
  std::vector<std::string> all;
  for (const std::string& module : modules)
    all.push_back(std::string(FileNameOf(module)) + "!" + sites.front().name);
  return base::Status(base::StatusCode::kInvalid, "several files have a function '" + sites.front().name +
                                                      "': say which: " + Join(all, ", "));
}

bool IsTaken(const trace::InstrumentRules& rules, const ProcessModule& module,
             const ModuleFunction& function) {
  return rules.empty() || rules
                              .Decide({.module = module.path(),
                                       .build_id = module.build_id(),
                                       .offset = function.offset,
                                       .symbol = function.name})
                              .is_taken;
}

// Without `explains`, which takes long, it is not said what is there instead.
base::Result<std::vector<ProbeSiteAt>> FindInFunctions(const Place& place, uint16_t probe,
                                                       ProcessFunctions* functions, DebugTypes* types,
                                                       bool explains = true) {
  const auto pattern = LAGWATCH_TRY(NamePattern::Of(place));
  std::vector<ProbeSiteAt> sites;
  bool is_local = false;  // a function that no other file can call by its name
  size_t left_out = 0;
  std::set<std::tuple<std::string, uint64_t, std::string>> known;
  for (ProcessModule& module : functions->modules()) {
    const bool is_left_out =
        (place.module.empty() || place.kind == PlaceKind::kCall) && IsLoader(module.file_name());
    if (is_left_out || !(place.module.empty() || module.IsCalled(place.module))) continue;
    const std::set<uint64_t> of_file =
        place.source_file.empty() ? std::set<uint64_t>() : types->FunctionsOfFile(&module, place.source_file);
    if (!place.source_file.empty() && of_file.empty()) continue;
    for (const ModuleFunction& function : module.functions()) {
      if (!place.source_file.empty() && !of_file.contains(function.offset)) continue;
      if (!pattern.Matches(function)) continue;
      if (place.kind == PlaceKind::kCall && !function.is_global) {
        is_local = true;
        continue;
      }
      // A name in full means its function, whatever the rules say.
      if (!pattern.is_plain() && !IsTaken(functions->rules(), module, function)) {
        ++left_out;
        continue;
      }
      // Import tables, and the loader, go by names.
      const bool is_by_name = place.kind == PlaceKind::kCall || function.is_chosen_at_load;
      const bool is_new = known
                              .emplace(module.path(), function.is_chosen_at_load ? 0 : function.offset,
                                       is_by_name ? function.name : std::string())
                              .second;
      if (!is_new) continue;
      sites.push_back(SiteOf(module, function, probe));
    }
  }
  if (sites.empty() && is_local)
    return base::Status(base::StatusCode::kNotFound,
                        "no import table leads to '" + place.name +
                            "', which its file keeps to itself: probe the function "
                            "itself, without call");
  if (sites.empty() && left_out != 0)
    return base::Status(base::StatusCode::kNotFound, "the rules leave out all " + std::to_string(left_out) +
                                                         " functions that '" + place.name + "' means");
  if (sites.empty())
    return explains ? NoSuchFunction(place, functions, types) : base::Status(base::StatusCode::kNotFound, "");
  if (sites.size() > sdk::kMaxProbeSites)
    return base::Status(base::StatusCode::kTooLarge,
                        "'" + place.name + "' means " + std::to_string(sites.size()) +
                            " functions; a script may be at " + std::to_string(sdk::kMaxProbeSites));
  if (pattern.is_plain() && place.module.empty())
    return OfOneFile(std::move(sites), functions->modules().front().path());
  return sites;
}

struct RoleRow {
  PlaceKind place;
  const char* function;
  sdk::SiteRole role;
  const char* module;
};

constexpr RoleRow kRoles[] = {
#define SITE_ROLE(place, function, role, module) \
  {PlaceKind::k##place, function, sdk::SiteRole::k##role, module},
#include "sdk/probe/site_roles.def"
};

bool HasGlobal(ProcessModule& module, std::string_view name) {
  return std::ranges::any_of(module.functions(),
                             [&](const ModuleFunction& each) { return each.is_global && each.name == name; });
}

bool MayHaveRole(const RoleRow& row, ProcessModule& module, bool is_program) {
  if (row.place == PlaceKind::kAlloc) return !IsLoader(module.file_name()) && HasGlobal(module, "malloc");
  return is_program || module.file_name().starts_with(row.module);
}

// The functions that stand for a place, in the library that has them, or in what was linked with it
// statically.
base::Result<std::vector<ProbeSiteAt>> FindRoles(const Place& place, uint16_t probe,
                                                 ProcessFunctions* functions) {
  std::vector<ProbeSiteAt> sites;
  for (const RoleRow& row : kRoles) {
    if (row.place != place.kind) continue;
    for (ProcessModule& module : functions->modules()) {
      if (!MayHaveRole(row, module, &module == &functions->modules().front())) continue;
      const auto is_it = [&](const ModuleFunction& each) {
        return each.name == row.function && !each.is_chosen_at_load;
      };
      const auto found = std::ranges::find_if(module.functions(), is_it);
      // Two names of one function, as aligned_alloc and memalign, count each call once.
      const auto is_same = [&](const ProbeSiteAt& site) {
        return site.offset == found->offset && site.module == module.path();
      };
      if (found == module.functions().end() || std::ranges::any_of(sites, is_same)) continue;
      ProbeSiteAt site = SiteOf(module, *found, probe);
      site.role = row.role;
      if (row.role == sdk::SiteRole::kTransfer) site.detail = row.function;
      sites.push_back(std::move(site));
    }
  }
  if (!sites.empty()) return sites;
  return base::Status(base::StatusCode::kNotFound,
                      place.kind == PlaceKind::kThrow
                          ? "the program throws no C++ exceptions: it has no __cxa_throw"
                          : "the program has no functions for this place");
}

// The notes of <sys/sdt.h> whose PROVIDER:NAME a place means.
base::Result<std::vector<ProbeSiteAt>> FindNotes(const Place& place, uint16_t probe,
                                                 ProcessFunctions* functions) {
  std::vector<ProbeSiteAt> sites;
  std::vector<std::string> names;
  for (ProcessModule& module : functions->modules()) {
    if (!(place.module.empty() || module.IsCalled(place.module))) continue;
    const auto file = stack::ElfFile::Open(module.seen_path());
    if (!file) continue;
    for (const stack::SdtNote& note : stack::ReadSdtNotes(*file)) {
      names.push_back(note.WholeName());
      if (!trace::MatchesGlob(place.name, note.WholeName())) continue;
      sites.push_back({.probe = probe,
                       .role = sdk::SiteRole::kNote,
                       .build_id = module.build_id(),
                       .module = module.path(),
                       .offset = note.address,
                       .name = note.WholeName(),
                       .symbol = note.WholeName(),
                       .detail = note.arguments});
    }
  }
  if (sites.size() > sdk::kMaxProbeSites)
    return base::Status(base::StatusCode::kTooLarge, "'" + place.name + "' means too many notes");
  if (!sites.empty()) return sites;
  const std::string nearest = base::NearestWord(place.name, names);
  const std::string suggestion = nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
  return base::Status(base::StatusCode::kNotFound,
                      "the program and its libraries have no note '" + place.name + "'" + suggestion +
                          (names.empty() ? ": they have none at all"
                                         : "; `lagwatch probe PID --functions 'usdt *'` lists them"));
}

// Whether a place may mean a method of Java, though the script does not say so.
bool MayBeJava(const Place& place, ProcessFunctions* functions) {
  return place.kind != PlaceKind::kCall && place.pattern != PatternKind::kRegex && place.module.empty() &&
         place.source_file.empty() && place.name.find("::") != std::string::npos &&
         std::ranges::any_of(functions->modules(),
                             [](const ProcessModule& module) { return module.file_name() == "libjvm.so"; });
}

}  // namespace

// Nothing outside knows the classes.
std::vector<ProbeSiteAt> JavaSites(const std::string& pattern) {
  ProbeSiteAt site;
  site.role = sdk::SiteRole::kJavaMethod;
  site.name = pattern;
  return {site};
}

bool MeansJava(const Place& place, ProcessFunctions* functions, DebugTypes* types) {
  return MayBeJava(place, functions) &&
         FindInFunctions(place, 0, functions, types, /*explains=*/false).status().code() ==
             base::StatusCode::kNotFound;
}

base::Result<std::vector<ProbeSiteAt>> FindSites(const Place& place, uint16_t probe,
                                                 ProcessFunctions* functions, DebugTypes* types) {
  if (place.is_java) {
    std::vector<ProbeSiteAt> sites = JavaSites(place.name);
    sites.front().probe = probe;
    return sites;
  }
  functions->AskServersFor(place.module);
  switch (place.kind) {
    case PlaceKind::kEntry:
    case PlaceKind::kReturn:
    case PlaceKind::kError:
    case PlaceKind::kDuration:
    case PlaceKind::kCall:
      return FindInFunctions(place, probe, functions, types);
    case PlaceKind::kThrow:
    case PlaceKind::kAlloc:
    case PlaceKind::kLock:
    case PlaceKind::kIo:
    case PlaceKind::kExit:
      return FindRoles(place, probe, functions);
    case PlaceKind::kTimer:
    case PlaceKind::kEvent:
    case PlaceKind::kDispatch:
    case PlaceKind::kHang:
    case PlaceKind::kInnerCall:  // these are of Java
    case PlaceKind::kLine:
    case PlaceKind::kCreation:
    case PlaceKind::kMonitor:
    case PlaceKind::kFieldRead:
    case PlaceKind::kFieldWrite:
      return std::vector<ProbeSiteAt>();
    case PlaceKind::kUsdt:
      return FindNotes(place, probe, functions);
  }
  return std::vector<ProbeSiteAt>();
}

base::Result<std::vector<ProbeSiteAt>> FindFunctions(const std::string& pattern, ProcessFunctions* functions,
                                                     DebugTypes* types, bool explains) {
  constexpr std::string_view kOfNotes = "usdt ";
  Place place;
  if (pattern.starts_with(kOfNotes)) {
    place.name = pattern.substr(kOfNotes.size());
    return FindNotes(place, 0, functions);
  }
  const size_t mark = pattern.find('!');
  place.module = mark == std::string::npos ? "" : pattern.substr(0, mark);
  place.name = mark == std::string::npos ? pattern : pattern.substr(mark + 1);
  if (place.name.size() > 2 && place.name.starts_with('/') && place.name.ends_with('/')) {
    place.pattern = PatternKind::kRegex;
    place.name = place.name.substr(1, place.name.size() - 2);
  }
  functions->AskServersFor(place.module);
  auto sites = LAGWATCH_TRY(FindInFunctions(place, 0, functions, types, explains));
  std::ranges::stable_sort(sites, {}, [](const ProbeSiteAt& site) { return Location(site); });
  return sites;
}

}  // namespace lagwatch::tools
