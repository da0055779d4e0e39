// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/perl/perl.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace lagwatch::stack::perl {

void Perl::LookAt(const LoadedModule& loaded, CodeMap* code) {
  constexpr uint8_t kMajor = 5;
  constexpr uint8_t kMinor = 36;
  constexpr uint16_t kInterpreterBytes = 3768;  // in builds with threads
  if (found_ != nullptr) return;
  const uint64_t evaluation = loaded.exports.Find("Perl_runops_standard");
  if (evaluation == 0) return;
  uint8_t major = 0;
  uint8_t minor = 0;
  uint16_t bytes = 0;
  memory_->Read(loaded.exports.Find("PL_revision"), &major);
  memory_->Read(loaded.exports.Find("PL_version"), &minor);
  memory_->Read(loaded.exports.Find("PL_interp_size"), &bytes);
  if (major != kMajor || minor != kMinor || bytes != kInterpreterBytes) {
    std::snprintf(unreadable_, sizeof unreadable_, "perl %u.%u", unsigned{major}, unsigned{minor});
    return;
  }
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  found[0].reader.Attach(memory_);
  found[0].place = {loaded.index, evaluation - loaded.module.load_bias, code->AddLanguage("[perl]")};
  if (found[0].place.language != kNoModule) found_ = std::move(found);
}

void Perl::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr || thread.raw == nullptr) return;
  Found& found = found_[0];
  const auto is_in_perl = [&](const Frame& frame) { return frame.module == found.place.module; };
  // The interpreter may be beyond the end of a native stack that ends too early.
  if (stack->completeness != Completeness::kIncomplete && std::ranges::none_of(stack->view(), is_in_perl))
    return;
  {
    const auto held = code->Hold();
    found.search.Collect(*thread.raw, code->modules().stacks());
  }
  if (found.reader.Read(found.search.candidates(), &code->script_functions(), &found.frames))
    Splice(found.place, found.frames, stack);
}

}  // namespace lagwatch::stack::perl
