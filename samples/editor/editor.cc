// SPDX-License-Identifier: Apache-2.0
#include "editor.h"

#include <cmath>
#include <cstdio>

#include "document.h"

namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

// Returns the size of a job that takes `target`: doubles the size until the job takes long enough to
// extrapolate; `exponent` is the growth of its time with its size.
template <typename Run>
size_t SizeFor(duration<double> target, double exponent, Run run) {
  const duration<double> kLongEnough = target / 50;
  for (size_t size = 16;; size *= 2) {
    steady_clock::time_point begin = steady_clock::now();
    run(size);
    duration<double> taken = steady_clock::now() - begin;
    if (taken < kLongEnough) continue;
    return static_cast<size_t>(static_cast<double>(size) * std::pow(target / taken, 1 / exponent)) + 1;
  }
}

}  // namespace

Editor::Editor(std::string save_path, std::chrono::milliseconds freeze)
    : save_path_(std::move(save_path)),
      freeze_(freeze),
      text_(MakeText(1000)),
      lines_to_save_(SplitLines(MakeText(100))) {
  index_passes_ = SizeFor(freeze, 1, [&](size_t passes) { index_.Rebuild(text_, passes); });
  lines_to_paste_ =
      SplitLines(MakeText(SizeFor(freeze, 2, [lines = std::vector<std::string>()](size_t size) mutable {
        lines = SplitLines(MakeText(size));
        ParseOutline(lines);
      })));
}

bool Editor::Handle(const std::string& command) {
  if (command == "key") return OnKey(), true;
  if (command == "reindex") return OnReindex(), true;
  if (command == "find") return OnFind(), true;
  if (command == "save") return OnSave(), true;
  if (command == "paste") return OnPaste(), true;
  return false;
}

void Editor::OnKey() { text_ += 'x'; }

void Editor::OnReindex() { index_.StartRebuild(text_, index_passes_); }

[[gnu::noinline]] void Editor::OnFind() { std::printf("found %zu times\n", index_.Lookup("wait")); }

// Saves again until the time is over: how long the disk will take is not known before.
[[gnu::noinline]] void Editor::OnSave() {
  const steady_clock::time_point end = steady_clock::now() + freeze_;
  bool is_saved = true;
  size_t lines = 0;
  do {
    is_saved = SaveFile(save_path_, lines_to_save_);
    lines += lines_to_save_.size();
  } while (is_saved && steady_clock::now() < end);
  std::printf(is_saved ? "saved %zu lines\n" : "cannot save %zu lines\n", lines);
}

[[gnu::noinline]] void Editor::OnPaste() {
  std::printf("pasted %zu lines\n", ParseOutline(lines_to_paste_).size());
}
