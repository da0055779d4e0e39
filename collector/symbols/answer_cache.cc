// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/answer_cache.h"

namespace lagwatch::collector {
namespace {

// The size of an answer, with its share of the map and the list, approximately.
size_t SizeOf(const BuildId& build_id, const CodePlace& place, const std::vector<NamedFrame>& frames) {
  size_t size_bytes = 192 + build_id.bytes().size() + sizeof place + place.function.capacity();
  for (const NamedFrame& frame : frames) {
    size_bytes += sizeof frame + frame.function.capacity() + frame.file.capacity();
  }
  return size_bytes;
}

}  // namespace

const std::vector<NamedFrame>* AnswerCache::Find(const BuildId& build_id, const CodePlace& place) {
  auto answer = answers_.find({build_id, place});
  if (answer == answers_.end()) return nullptr;
  order_.splice(order_.begin(), order_, answer->second.place);
  return &answer->second.frames;
}

void AnswerCache::Add(const BuildId& build_id, const CodePlace& place, std::vector<NamedFrame> frames) {
  const size_t size_bytes = SizeOf(build_id, place, frames);
  auto [answer, is_new] = answers_.try_emplace({build_id, place});
  if (!is_new) return;
  order_.push_front(&answer->first);
  answer->second = {std::move(frames), size_bytes, order_.begin()};
  size_bytes_ += size_bytes;
  while (size_bytes_ > max_bytes_) Remove(answers_.find(*order_.back()));
}

void AnswerCache::Drop(const BuildId& build_id) {
  auto answer = answers_.lower_bound({build_id, CodePlace()});
  while (answer != answers_.end() && answer->first.first == build_id) answer = Remove(answer);
}

AnswerCache::Answers::iterator AnswerCache::Remove(Answers::iterator answer) {
  size_bytes_ -= answer->second.size_bytes;
  order_.erase(answer->second.place);
  return answers_.erase(answer);
}

}  // namespace lagwatch::collector
