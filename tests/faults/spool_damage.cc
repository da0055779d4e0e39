// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/spool_damage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "report/spool/segment_format.h"
#include "tests/report/report_testing.h"

namespace lagwatch::faults {
namespace {

using lagwatch::testing::ReadFile;
using lagwatch::testing::WriteFile;

constexpr char kLinkName[] = "0198f000-0000-7000-8000-000000000001-000001.seg";
constexpr char kPipeName[] = "0198f000-0000-7000-8000-000000000002-000001.open";
constexpr char kFolderName[] = "0198f000-0000-7000-8000-000000000003-000001.seg";
constexpr char kContent[] = "not the spool's";

const char* const kForeignNames[] = {"notes.txt", ".hidden", "x.seg", "0198f000-000001.seg", "ledger.backup"};

std::string Framed(uint32_t type, std::string_view payload) {
  const report::RecordHeader header =
      report::MakeRecordHeader(static_cast<report::RecordType>(type), payload);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header).append(payload);
}

}  // namespace

ForeignFiles::ForeignFiles(std::string directory, std::string outside)
    : directory_(std::move(directory)), outside_(std::move(outside)) {
  for (const char* name : kForeignNames) WriteFile(directory_ + "/" + name, kContent);
  WriteFile(outside_ + "/target", kContent);
  const bool is_made = symlink((outside_ + "/target").c_str(), (directory_ + "/" + kLinkName).c_str()) == 0 &&
                       mkfifo((directory_ + "/" + kPipeName).c_str(), 0600) == 0 &&
                       mkdir((directory_ + "/" + kFolderName).c_str(), 0700) == 0;
  if (!is_made) throw std::runtime_error("cannot plant files in " + directory_);
}

std::string ForeignFiles::Check() const {
  for (const char* name : kForeignNames) {
    if (ReadFile(directory_ + "/" + name) != kContent)
      return std::string("somebody else's file was touched: ") + name;
  }
  struct stat status {};
  auto is_kind = [&](const char* name, mode_t kind) {
    return lstat((directory_ + "/" + name).c_str(), &status) == 0 && (status.st_mode & S_IFMT) == kind;
  };
  if (!is_kind(kLinkName, S_IFLNK) || !is_kind(kPipeName, S_IFIFO) || !is_kind(kFolderName, S_IFDIR))
    return "a link, pipe or folder was touched";
  return ReadFile(outside_ + "/target") == kContent ? "" : "what a link points to was touched";
}

std::vector<std::string> SpoolDamage::Segments() const {
  report::SpoolReader reader(&base::SystemEnv(), directory_);
  auto names = reader.List(report::SpoolReader::Include::kFinished);
  return std::move(names).value();
}

void SpoolDamage::Put(const std::string& name, const std::string& content) {
  WriteFile(directory_ + "/" + name, content);
  if (disk_ != nullptr) disk_->Adopt(name);
}

std::string SpoolDamage::Damaged(std::string content) {
  const size_t at = content.empty() ? 0 : random_.Below(content.size());
  switch (random_.Below(5)) {
    case 0:
      content.resize(at);
      break;
    case 1:
      if (!content.empty()) content[at] = static_cast<char>(content[at] ^ (1 << random_.Below(8)));
      break;
    case 2:
      content.replace(at, random_.Below(200), random_.Bytes(random_.Below(200)));
      break;
    case 3:
      content.append(random_.Bytes(1 + random_.Below(100)));
      break;
    default:
      content.assign(content.size(), '\0');
  }
  return content;
}

void SpoolDamage::DamageSegment(Accounts* accounts) {
  const std::vector<std::string> segments = Segments();
  if (segments.empty()) return;
  const std::string& name = segments[random_.Below(segments.size())];
  const std::string before = ReadFile(directory_ + "/" + name);
  const std::string after = Damaged(before);
  if (after == before) return;
  Put(name, after);
  const report::Segment left = report::ParseSegment(after);
  std::vector<report::OwnedRecord> gone;
  for (const report::OwnedRecord& record : report::ParseSegment(before).records) {
    const bool is_left = std::ranges::any_of(left.records, [&](const report::OwnedRecord& other) {
      return other.type == record.type && other.payload == record.payload;
    });
    if (!is_left) gone.push_back(record);
  }
  accounts->NoteDamaged(name, gone, left.skipped_bytes > 0);
}

void SpoolDamage::PlantSegment(Accounts* accounts) {
  std::string name = "0198f001-0000-7000-8000-" +
                     std::to_string(100'000'000'000 + random_.Below(100'000'000'000)) + "-" +
                     std::to_string(100'000 + random_.Below(900'000)) + random_.Pick({".seg", ".open"});
  std::string content;
  switch (random_.Below(5)) {
    case 0:
      break;
    case 1:
      content = random_.Bytes(random_.Below(3000));
      break;
    case 2:
      for (int i = 0; i < 300; ++i) content.append("LWS1").append(random_.Bytes(random_.Below(20)));
      break;
    case 3:  // a length that is a lie
      content = Framed(1, random_.Bytes(40));
      content.resize(30);
      break;
    default:  // of a newer version
      content = Framed(static_cast<uint32_t>(10 + random_.Below(900)), random_.Bytes(random_.Below(100)));
  }
  Put(name, content);
  accounts->NoteTorn();
}

void SpoolDamage::DamageLedger(Accounts* accounts, collector::Store* store) {
  const std::string path = directory_ + "/ledger";
  if (!std::filesystem::exists(path)) return;
  std::vector<report::OwnedRecord> on_disk;
  report::SpoolReader reader(&base::SystemEnv(), directory_);
  for (const std::string& name : Segments()) {
    auto segment = reader.Read(name);
    std::ranges::move(segment->records, std::back_inserter(on_disk));
  }
  const std::string before = ReadFile(path);
  std::string after = Damaged(before);
  if (after == before) return;
  // If it is still a ledger, it is another one: its content is accepted.
  Put("ledger", after);
  accounts->NoteLedgerDamaged(on_disk, store);
}

}  // namespace lagwatch::faults
