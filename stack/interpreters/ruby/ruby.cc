// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/ruby/ruby.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/system/thread.h"
#include "stack/interpreters/bytes.h"

namespace lagwatch::stack::ruby {

void Ruby::LookAt(const LoadedModule& loaded, CodeMap* code) {
  if (found_ != nullptr) return;
  const uint64_t evaluation = loaded.exports.Find("rb_vm_exec");
  const uint64_t vm = loaded.exports.Find("ruby_current_vm_ptr");
  const uint64_t version = loaded.exports.Find("ruby_version");
  if (evaluation == 0 || vm == 0 || version == 0) return;
  std::array<char, 4> text{};
  memory_->Read(version, text.data(), text.size() - 1);
  if (std::string_view(text.data()) != "3.1") {
    CleanText({text.data(), text.size() - 1});
    std::snprintf(unreadable_, sizeof unreadable_, "ruby %s", text.data());
    return;
  }
  auto found = base::MapBlock<Found>(1);
  if (found == nullptr) return;
  found[0].reader.Attach(memory_, vm, loaded.exports.Find("rb_cString"));
  found[0].place = {loaded.index, evaluation - loaded.module.load_bias, code->AddLanguage("[ruby]")};
  if (found[0].place.language == kNoModule) return;
  found_ = std::move(found);
  copied_.store(&found_[0], std::memory_order_release);  // pairs with CopyPieces()
}

void Ruby::AddTo(const CapturedThread& thread, CodeMap* code, Stack* stack) {
  if (found_ == nullptr || thread.raw == nullptr) return;
  Found& found = found_[0];
  const auto is_in_ruby = [&](const Frame& frame) { return frame.module == found.place.module; };
  // The interpreter may be beyond the end of a native stack that ends too early.
  if (stack->completeness != Completeness::kIncomplete && std::ranges::none_of(stack->view(), is_in_ruby))
    return;
  {
    const auto held = code->Hold();
    found.search.Collect(*thread.raw, code->modules().stacks());
  }
  if (!found.reader.Read(found.search.candidates(), *thread.raw, &code->script_functions(), &found.frames))
    return;
  found.hints.Set(thread.tid, 0, found.reader.last_context());
  Splice(found.place, found.frames, stack);
}

void Ruby::CopyPieces(const Registers&, MemoryPieces* pieces) const {
  const Found* found = copied_.load(std::memory_order_acquire);  // pairs with LookAt()
  if (found == nullptr) return;
  const StateHints::States& hints = found->hints.Of(base::CurrentThreadId());
  const uint64_t context = hints[0].load(std::memory_order_relaxed);  // checked
  if (context != 0) Reader::CopyPieces(context, pieces);
}

}  // namespace lagwatch::stack::ruby
