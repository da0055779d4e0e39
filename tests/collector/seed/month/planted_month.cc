// SPDX-License-Identifier: Apache-2.0
#include "tests/collector/seed/month/planted_month.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace lagwatch::testing {
namespace {

using policies::VerdictWord;

constexpr int kPeople[][2] = {{0, 6000}, {6000, 8000}, {8000, 10'000}};  // of the programs, in their order
const std::array<std::string, 3> kPrograms = {"editor", "player", "mail"};

std::vector<PlantedRelease> Releases() {
  return {{"editor", "2.0.0", 29, 24}, {"editor", "2.1.0", 23, 18}, {"editor", "2.2.0", 17, 12},
          {"editor", "2.3.0", 11, 6},  {"editor", "2.4.0", 5, 0},   {"player", "1.8", 29, 20},
          {"player", "1.9", 19, 10},   {"player", "1.10", 9, 0},    {"mail", "5.0", 29, 15},
          {"mail", "5.1", 14, 0}};
}

// The editor's: one of each kind that an analyst is asked about.
std::vector<PlantedCause> EditorCauses() {
  const auto in_all = [](int hangs) -> std::vector<std::pair<std::string, int>> {
    return {{"2.0.0", hangs}, {"2.1.0", hangs}, {"2.2.0", hangs}, {"2.3.0", hangs}, {"2.4.0", hangs}};
  };
  std::vector<PlantedCause> causes = {
      // Of all versions and users: the costliest of 2.4.0.
      {.app = "editor",
       .leaf = "Index::Lookup",
       .caller = "Editor::OnFind",
       .word = VerdictWord::kLock,
       .tag = "find",
       .usual_ms = 5600,
       .hangs_a_day = in_all(50),
       .owner = "Index::Rebuild"},
      // In a plug-in, and fixed in 2.4.0.
      {.app = "editor",
       .leaf = "ParseOutline",
       .caller = "Editor::OnPaste",
       .word = VerdictWord::kCpu,
       .tag = "paste",
       .usual_ms = 3400,
       .hangs_a_day = {{"2.0.0", 60}, {"2.1.0", 60}, {"2.2.0", 60}, {"2.3.0", 60}},
       .plugin = "/opt/editor/plugins/liboutline.so"},
      {.app = "editor",
       .leaf = "SaveFile",
       .caller = "Editor::OnSave",
       .word = VerdictWord::kDisk,
       .tag = "save",
       .usual_ms = 2900,
       .hangs_a_day = in_all(40)},
      // New in 2.4.0.
      {.app = "editor",
       .leaf = "SpellCheck::Word",
       .caller = "Editor::OnKey",
       .word = VerdictWord::kCpu,
       .tag = "key",
       .usual_ms = 2400,
       .hangs_a_day = {{"2.4.0", 40}}},
      // On one distribution alone, in a loop of its own.
      {.app = "editor",
       .leaf = "Gpu::Upload",
       .caller = "Editor::OnFrame",
       .word = VerdictWord::kDisplay,
       .tag = "frame",
       .usual_ms = 2200,
       .hangs_a_day = {{"2.2.0", 20}, {"2.3.0", 20}, {"2.4.0", 20}},
       .loop = "wayland",
       .distribution = PlantedMonth::kFedora},
      // Of one user.
      {.app = "editor",
       .leaf = "Backup::Copy",
       .caller = "Editor::OnBackup",
       .word = VerdictWord::kDisk,
       .tag = "backup",
       .usual_ms = 6000,
       .hangs_a_day = in_all(12),
       .user = PlantedMonth::kBackupUser},
      // On one kernel for the most part.
      {.app = "editor",
       .leaf = "Journal::Flush",
       .caller = "Editor::OnUndo",
       .word = VerdictWord::kDisk,
       .tag = "undo",
       .usual_ms = 3000,
       .hangs_a_day = in_all(15),
       .kernel = PlantedMonth::kSlowKernel},
      // Two and a half times as often from 2.3.0 on.
      {.app = "editor",
       .leaf = "Layout::Measure",
       .caller = "Editor::OnResize",
       .word = VerdictWord::kCpu,
       .tag = "resize",
       .usual_ms = 2600,
       .hangs_a_day = {{"2.0.0", 10}, {"2.1.0", 10}, {"2.2.0", 10}, {"2.3.0", 25}, {"2.4.0", 25}}}};
  for (int i = 0; i < 8; ++i) {
    causes.push_back({.app = "editor",
                      .leaf = "Panel" + std::to_string(i) + "::Draw",
                      .caller = "Editor::OnPaint",
                      .word = VerdictWord::kCpu,
                      .tag = "paint",
                      .usual_ms = 2200,
                      .hangs_a_day = in_all(3)});
  }
  return causes;
}

std::vector<PlantedCause> OtherCauses() {
  return {{.app = "player",
           .leaf = "Http::Fetch",
           .caller = "Library::LoadCover",
           .word = VerdictWord::kNetwork,
           .tag = "cover",
           .usual_ms = 5200,
           .hangs_a_day = {{"1.8", 55}, {"1.9", 55}, {"1.10", 55}}},
          // Since 1.9, in a plug-in.
          {.app = "player",
           .leaf = "Decoder::Next",
           .caller = "Player::Decode",
           .word = VerdictWord::kCpu,
           .tag = "frame",
           .usual_ms = 2200,
           .hangs_a_day = {{"1.9", 30}, {"1.10", 30}},
           .plugin = "/usr/lib/player/libcodec.so"},
          // In 1.8 alone.
          {.app = "player",
           .leaf = "Playlist::Load",
           .caller = "Player::OnOpen",
           .word = VerdictWord::kMemory,
           .tag = "open",
           .usual_ms = 2700,
           .hangs_a_day = {{"1.8", 15}}},
          // The longest: on Debian, while mail is fetched.
          {.app = "mail",
           .leaf = "Imap::Sync",
           .caller = "Mail::OnTimer",
           .word = VerdictWord::kNetwork,
           .tag = "sync",
           .usual_ms = 40'000,
           .hangs_a_day = {{"5.0", 5}, {"5.1", 5}},
           .distribution = PlantedMonth::kDebian},
          {.app = "mail",
           .leaf = "Folder::Index",
           .caller = "Mail::OnOpen",
           .word = VerdictWord::kCpu,
           .tag = "open",
           .usual_ms = 2500,
           .hangs_a_day = {{"5.0", 25}, {"5.1", 25}}},
          {.app = "mail",
           .leaf = "Outbox::Lock",
           .caller = "Mail::OnSend",
           .word = VerdictWord::kLock,
           .tag = "send",
           .usual_ms = 2800,
           .hangs_a_day = {{"5.1", 10}},
           .owner = "Outbox::Compact"}};
}

}  // namespace

PlantedMonth::PlantedMonth(int part) : releases_(Releases()), causes_(EditorCauses()) {
  constexpr int kUsesADay[] = {350, 150, 100};
  std::ranges::move(OtherCauses(), std::back_inserter(causes_));
  for (const PlantedCause& cause : causes_) {
    for (const auto& [version, hangs_a_day] : cause.hangs_a_day) {
      const auto release = std::ranges::find_if(releases_, [&, wanted = version](const PlantedRelease& each) {
        return each.app == cause.app && each.version == wanted;
      });
      const int days = release->first_day - release->last_day + 1;
      AddHangs(cause, *release, std::max(1, days * hangs_a_day / part));
    }
  }
  for (const PlantedRelease& release : releases_) {
    const auto program = std::ranges::find(kPrograms, release.app) - kPrograms.begin();
    AddUses(release, std::max(1, kUsesADay[program] / part));
  }
}

void PlantedMonth::AddHangs(const PlantedCause& cause, const PlantedRelease& release, int hangs) {
  const int days = release.first_day - release.last_day + 1;
  for (int i = 0; i < hangs; ++i) {
    hangs_.push_back({.cause = &cause,
                      .version = release.version,
                      .user = UserOf(cause),
                      .day = release.last_day + i % days,
                      .hang_ms = std::max<int64_t>(2050, cause.usual_ms * (60 + Below(81)) / 100),
                      .is_in_plugin = !cause.plugin.empty() && i % 10 != 9});
  }
}

// The users take turns; a version's hang time is that of its hangs, spread over the uses.
void PlantedMonth::AddUses(const PlantedRelease& release, int uses_a_day) {
  const auto program = std::ranges::find(kPrograms, release.app) - kPrograms.begin();
  const auto [first, end] = kPeople[program];
  const int days = release.first_day - release.last_day + 1;
  const size_t count = static_cast<size_t>(days * uses_a_day);
  const size_t begin = uses_.size();
  for (size_t i = 0; i < count; ++i) {
    uses_.push_back({.release = &release,
                     .user = first + static_cast<int>((begin + i) * 7 % static_cast<size_t>(end - first)),
                     .day = release.last_day + static_cast<int>(i) % days,
                     .watched_ms = 3'600'000 + Below(4 * 3'600'000)});
  }
  size_t at = 0;
  for (const PlantedHang& hang : hangs_) {
    if (hang.cause->app != release.app || hang.version != release.version) continue;
    PlantedUse& use = uses_[begin + at++ % count];
    ++use.hangs;
    use.hang_ms += hang.hang_ms;
  }
}

int PlantedMonth::UserOf(const PlantedCause& cause) {
  if (cause.user >= 0) return cause.user;
  const auto [first, end] = kPeople[std::ranges::find(kPrograms, cause.app) - kPrograms.begin()];
  const bool is_on_kernel = !cause.kernel.empty() && Below(10) != 0;
  for (;;) {
    const int user = first + static_cast<int>(Below(end - first));
    const bool fits = (cause.distribution.empty() || DistributionOf(user) == cause.distribution) &&
                      (!is_on_kernel || KernelOf(user) == cause.kernel);
    if (fits) return user;
  }
}

std::string PlantedMonth::DistributionOf(int user) {
  const int of_100 = user * 37 % 100;
  if (of_100 < 40) return kDebian;
  if (of_100 < 70) return "Ubuntu 24.04.1 LTS";
  return of_100 < 90 ? kFedora : "Arch Linux";
}

// Independent of the distribution.
std::string PlantedMonth::KernelOf(int user) {
  constexpr std::array kKernels = {"Linux 6.1.0-28-amd64", kSlowKernel, "Linux 6.8.0-49-generic",
                                   "Linux 6.11.5"};
  return kKernels[static_cast<size_t>(user / 100 % 4)];
}

// As in Numerical Recipes: the same on every machine.
int64_t PlantedMonth::Below(int64_t bound) {
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return static_cast<int64_t>((random_ >> 33) % static_cast<uint64_t>(bound));
}

}  // namespace lagwatch::testing
