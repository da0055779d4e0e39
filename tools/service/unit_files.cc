// SPDX-License-Identifier: Apache-2.0
#include "tools/service/unit_files.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

namespace lagwatch::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kServiceSuffix = ".service";
constexpr std::array<std::string_view, 10> kOtherSuffixes = {
    ".socket", ".target", ".device", ".mount", ".automount", ".swap", ".timer", ".path", ".slice", ".scope"};

fs::path InRoot(const fs::path& root, const fs::path& path) { return root / path.relative_path(); }

fs::path UserConfig() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') return config;
  const char* home = std::getenv("HOME");
  return fs::path(home == nullptr ? "/" : home) / ".config";
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

base::Result<std::string> ReadText(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  if (!stream || !text) return Status(StatusCode::kIo, "cannot read " + file.string());
  return text.str();
}

// "/dev/null", or an empty file: how a unit is masked.
bool IsMask(const fs::path& file) {
  std::error_code ignored;
  if (fs::is_symlink(file, ignored) && fs::read_symlink(file, ignored) == "/dev/null") return true;
  return fs::is_regular_file(file, ignored) && fs::is_empty(file, ignored);
}

// The file in the first of the folders that has it, also as a link whose end is not there.
std::optional<fs::path> FindIn(const std::vector<fs::path>& folders, const std::string& name) {
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (const auto status = fs::symlink_status(folder / name, error); fs::exists(status))
      return folder / name;
  }
  return std::nullopt;
}

// "getty@.service" for "getty@tty1.service"; empty for a name that is no instance.
std::string TemplateOf(const std::string& name) {
  const size_t at = name.find('@');
  if (at == std::string::npos || name.compare(at + 1, std::string::npos, kServiceSuffix) == 0) return {};
  return name.substr(0, at + 1) + std::string(kServiceSuffix);
}

// The names of the folders of drop-ins for a unit and for the groups of units that it belongs to, its own
// first.
std::vector<std::string> DropInNames(const std::string& name) {
  std::vector<std::string> names = {name};
  if (const std::string of_template = TemplateOf(name); !of_template.empty()) names.push_back(of_template);
  const std::string stem = name.substr(0, name.size() - kServiceSuffix.size());
  for (size_t dash = stem.rfind('-'); dash != std::string::npos && dash > 0; dash = stem.rfind('-', dash - 1))
    if (dash + 1 < stem.size()) names.push_back(stem.substr(0, dash + 1) + std::string(kServiceSuffix));
  return names;
}

std::vector<fs::path> FindDropIns(const std::vector<fs::path>& folders, const std::string& name) {
  std::vector<fs::path> places;
  for (const fs::path& folder : folders)
    for (const std::string& each : DropInNames(name)) places.push_back(folder / (each + ".d"));
  for (const fs::path& folder : folders) places.push_back(folder / "service.d");
  // A file hides those of its name in later places; the names give the order.
  std::map<std::string, fs::path> by_name;
  for (const fs::path& place : places) {
    std::error_code error;
    for (fs::directory_iterator entry(place, error), end; !error && entry != end; entry.increment(error))
      if (entry->path().extension() == ".conf")
        by_name.emplace(entry->path().filename().string(), entry->path());
  }
  std::vector<fs::path> found;
  for (const auto& [ignored, path] : by_name)
    if (!IsMask(path)) found.push_back(path);
  return found;
}

// Follows links from one unit's name to another one's, as aliases are.
base::Result<UnitFiles> FindFile(const std::vector<fs::path>& folders, std::string name) {
  constexpr int kMostAliases = 8;
  for (int i = 0; i < kMostAliases; ++i) {
    auto file = FindIn(folders, name);
    if (!file) {
      if (const std::string of_template = TemplateOf(name); !of_template.empty())
        file = FindIn(folders, of_template);
    }
    if (!file) return Status(StatusCode::kNotFound, "there is no unit " + name);
    if (IsMask(*file)) {
      return Status(StatusCode::kInvalid,
                    name + " is masked: `systemctl unmask " + name + "` lets it start again");
    }
    std::error_code ignored;
    const fs::path target = fs::is_symlink(*file) ? fs::read_symlink(*file, ignored).filename() : fs::path();
    if (target.empty() || target == file->filename() || !target.string().ends_with(kServiceSuffix)) {
      UnitFiles unit;
      unit.name = std::move(name);
      unit.file = *std::move(file);
      return unit;
    }
    name = target.string();
  }
  return Status(StatusCode::kInvalid, "the aliases of " + name + " form a cycle");
}

}  // namespace

fs::path UnitScope::OwnFolder() const {
  return is_user ? InRoot(root, UserConfig() / "systemd/user") : InRoot(root, "/etc/systemd/system");
}

std::vector<fs::path> UnitScope::Folders() const {
  std::vector<fs::path> folders;
  if (is_user) {
    folders.push_back(OwnFolder());
    for (const char* folder :
         {"/etc/systemd/user", "/run/systemd/user", "/usr/local/share/systemd/user",
          "/usr/share/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user"})
      folders.push_back(InRoot(root, folder));
    return folders;
  }
  for (const char* folder : {"/etc/systemd/system.control", "/run/systemd/system.control",
                             "/run/systemd/generator.early", "/etc/systemd/system", "/run/systemd/system",
                             "/run/systemd/generator", "/usr/local/lib/systemd/system",
                             "/usr/lib/systemd/system", "/lib/systemd/system", "/run/systemd/generator.late"})
    folders.push_back(InRoot(root, folder));
  return folders;
}

std::vector<UnitLine> ParseUnitLines(std::string_view text) {
  std::vector<UnitLine> lines;
  std::string section;
  std::string line;  // of several that are continued
  const auto add = [&] {
    const std::string_view whole = Trimmed(line);
    const size_t equals = whole.find('=');
    if (whole.starts_with('[') && whole.ends_with(']')) {
      section = whole.substr(1, whole.size() - 2);
    } else if (equals != std::string_view::npos) {
      lines.push_back({section, std::string(Trimmed(whole.substr(0, equals))),
                       std::string(Trimmed(whole.substr(equals + 1)))});
    }
    line.clear();
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view trimmed = Trimmed(part);
    // A comment may stand between the parts of a line.
    if (trimmed.starts_with('#') || trimmed.starts_with(';')) continue;
    if (part.ends_with('\\')) {
      line.append(part.substr(0, part.size() - 1)).append(" ");
      continue;
    }
    line.append(part);
    add();
  }
  add();
  return lines;
}

std::vector<std::string> UnitFiles::Values(std::string_view section, std::string_view key) const {
  std::vector<std::string> values;
  for (const UnitLine& line : lines) {
    if (line.section != section || line.key != key) continue;
    if (line.value.empty()) {
      values.clear();
    } else {
      values.push_back(line.value);
    }
  }
  return values;
}

std::string UnitFiles::Value(std::string_view section, std::string_view key) const {
  const std::vector<std::string> values = Values(section, key);
  return values.empty() ? "" : values.back();
}

bool UnitFiles::IsOn(std::string_view section, std::string_view key) const {
  const std::string value = Value(section, key);
  return value == "yes" || value == "true" || value == "on" || value == "1" || value == "y" || value == "t";
}

base::Result<UnitFiles> FindService(const UnitScope& scope, std::string name) {
  if (name.empty() || name.find('/') != std::string::npos)
    return Status(StatusCode::kInvalid, "'" + name + "' is not a unit's name");
  const auto is_suffix = [&](std::string_view suffix) { return name.ends_with(suffix); };
  if (std::ranges::any_of(kOtherSuffixes, is_suffix))
    return Status(StatusCode::kInvalid, name + " is not a service: it runs no program");
  if (!name.ends_with(kServiceSuffix)) name += kServiceSuffix;
  const std::vector<fs::path> folders = scope.Folders();
  UnitFiles unit = LAGWATCH_TRY(FindFile(folders, std::move(name)));
  unit.drop_ins = FindDropIns(folders, unit.name);
  std::vector<fs::path> files = unit.drop_ins;
  files.insert(files.begin(), unit.file);
  for (const fs::path& file : files) {
    const std::string text = LAGWATCH_TRY(ReadText(file));
    std::vector<UnitLine> more = ParseUnitLines(text);
    std::ranges::move(more, std::back_inserter(unit.lines));
  }
  return unit;
}

}  // namespace lagwatch::tools
