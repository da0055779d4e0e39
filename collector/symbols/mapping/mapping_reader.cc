// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/mapping/mapping_reader.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace lagwatch::collector {
namespace {

constexpr size_t kMaxClasses = 4'000'000;
constexpr size_t kMaxFrames = 256;  // of a place
constexpr size_t kMaxTextBytes = 1024;
constexpr size_t kMaxAlternatives = 4;
constexpr std::string_view kMapIdComment = "# pg_map_id: ";

Status Invalid(const std::string& message) { return {StatusCode::kInvalid, message}; }

std::string Cut(std::string_view text) { return std::string(text.substr(0, kMaxTextBytes)); }

// The line of the original method that stands for `line` of the renamed one.
uint64_t OriginalLine(const MemberLine& member, uint64_t line) {
  if (!member.original) return line;
  if (!member.lines || member.original->first == member.original->last) return member.original->first;
  return std::min(member.original->first + (std::max(line, member.lines->first) - member.lines->first),
                  member.original->last);
}

// The methods that were inlined into each other at the same lines follow each other, and the outermost comes
// last.
std::span<const MemberLine> TakeGroup(std::span<const MemberLine>* members) {
  size_t size = 1;
  const auto& lines = members->front().lines;
  while (lines && size < members->size() && (*members)[size].lines == lines) ++size;
  const auto group = members->first(size);
  *members = members->subspan(size);
  return group;
}

}  // namespace

base::Result<std::unique_ptr<MappingReader>> MappingReader::Open(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return base::IoError("cannot read the mapping", errno);
  if (status.st_size == 0) return Invalid("the mapping is empty");
  const auto size = static_cast<size_t>(status.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return base::IoError("cannot read the mapping", errno);
  std::unique_ptr<MappingReader> reader(new MappingReader({static_cast<const char*>(mapped), size}));
  if (Status found = reader->FindClasses(); !found.ok()) return found;
  return reader;
}

MappingReader::~MappingReader() { munmap(const_cast<char*>(text_.data()), text_.size()); }

Status MappingReader::FindClasses() {
  std::string_view rest = text_;
  uint64_t number = 0;
  const auto end_body = [&](std::string_view line) {
    if (classes_.empty()) return;
    std::string_view& body = classes_.back().body;
    body = {body.data(), static_cast<size_t>(line.data() - body.data())};
  };
  while (!rest.empty()) {
    ++number;
    const std::string_view line = TakeLine(&rest);
    if (line.starts_with(kMapIdComment)) map_id_ = line.substr(kMapIdComment.size());
    if (line.empty() || line.starts_with(' ') || line.starts_with('\t') || line.starts_with('#')) continue;
    const auto read = ReadClassLine(line);
    if (!read) {
      return Invalid("line " + std::to_string(number) +
                     " is not of a mapping of R8 or ProGuard: a class is `NAME -> NEWNAME:`");
    }
    if (classes_.size() == kMaxClasses) return Invalid("the mapping has too many classes");
    end_body(line);
    classes_.push_back({read->original, read->renamed, rest});
  }
  if (classes_.empty()) return Invalid("the mapping names no class");
  std::ranges::sort(classes_, {}, &Class::renamed);
  by_original_.reserve(classes_.size());
  for (const Class& each : classes_) by_original_.push_back(&each);
  std::ranges::sort(by_original_, {}, &Class::original);
  return {};
}

const MappingReader::Class* MappingReader::FindRenamed(std::string_view name) const {
  const auto found = std::ranges::lower_bound(classes_, name, {}, &Class::renamed);
  return found != classes_.end() && found->renamed == name ? &*found : nullptr;
}

std::string_view MappingReader::SourceFileOf(std::string_view original) const {
  const auto found = std::ranges::lower_bound(by_original_, original, {}, &Class::original);
  return found != by_original_.end() && (*found)->original == original ? ReadSourceFile((*found)->body)
                                                                       : std::string_view();
}

NamedFrame MappingReader::FrameOf(const Class& owner, const MemberLine& member, uint64_t line) const {
  const std::string_view original = member.owner.empty() ? owner.original : member.owner;
  return {.function = Cut(original) + "." + Cut(member.name),
          .file = Cut(SourceFileOf(original)),
          .line = line <= UINT32_MAX ? static_cast<uint32_t>(line) : 0};
}

std::vector<NamedFrame> MappingReader::FramesOfGroup(const Class& owner, Group group, uint64_t line) const {
  const bool is_made_up = std::ranges::any_of(group, &MemberLine::is_made_up);
  if (is_made_up) group = group.first(group.size() - 1);
  if (group.empty()) return {NamedFrame{}};
  std::vector<NamedFrame> frames;
  for (const MemberLine& member : group.first(std::min(group.size(), kMaxFrames))) {
    frames.push_back(FrameOf(owner, member, OriginalLine(member, line)));
    frames.back().is_inlined = true;
  }
  frames.back().is_inlined = false;
  return frames;
}

std::vector<NamedFrame> MappingReader::Alternatives(const Class& owner,
                                                    const std::vector<const MemberLine*>& members,
                                                    uint64_t line) const {
  const MemberLine& first = *members.front();
  uint64_t original = line;
  if (first.original) original = first.original->first == first.original->last ? first.original->first : 0;
  NamedFrame frame = FrameOf(owner, first, members.size() == 1 ? original : first.original ? 0 : line);
  std::vector<std::string_view> names = {first.name};
  for (const MemberLine* member : members) {
    if (std::ranges::find(names, member->name) != names.end() || names.size() == kMaxAlternatives) continue;
    names.push_back(member->name);
    frame.function += "|" + Cut(member->name);
  }
  return {std::move(frame)};
}

std::vector<NamedFrame> MappingReader::FramesAt(std::string_view function, uint64_t line) const {
  function = function.substr(0, function.find('('));
  const size_t dot = function.rfind('.');
  const Class* owner = dot == function.npos ? nullptr : FindRenamed(function.substr(0, dot));
  if (owner == nullptr) return {};
  MemberLine unchanged;
  unchanged.name = function.substr(dot + 1);
  const std::vector<MemberLine> members = ReadMembers(owner->body, unchanged.name);
  std::vector<const MemberLine*> without_lines;
  std::vector<const MemberLine*> outermost;
  for (Group rest = members; !rest.empty();) {
    const Group group = TakeGroup(&rest);
    // Lines 0 to 0 are those of a frame without a line.
    if (group.front().lines && group.front().lines->Contains(line)) return FramesOfGroup(*owner, group, line);
    if (group.back().is_made_up && !group.front().lines) return FramesOfGroup(*owner, group, line);
    (group.front().lines ? outermost : without_lines).push_back(&group.back());
  }
  if (!without_lines.empty()) return Alternatives(*owner, without_lines, line);
  // A line that is in none of the pieces is of a method that kept its name.
  if (line == 0 && !outermost.empty()) return Alternatives(*owner, outermost, 0);
  return {FrameOf(*owner, unchanged, line)};
}

}  // namespace lagwatch::collector
