// SPDX-License-Identifier: Apache-2.0
// Answers that a Symbolizer gave, the last used ones, up to so many bytes. Context:
// background. Not thread-safe.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "collector/symbols/elf/build_id.h"
#include "collector/symbols/elf/named_frame.h"

namespace lagwatch::collector {

class AnswerCache {
 public:
  explicit AnswerCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Null when it has none. Valid until the next call of another method.
  const std::vector<NamedFrame>* Find(const BuildId& build_id, const CodePlace& place);
  void Add(const BuildId& build_id, const CodePlace& place, std::vector<NamedFrame> frames);
  // All of a build id.
  void Drop(const BuildId& build_id);

  size_t size_bytes() const { return size_bytes_; }

 private:
  using Key = std::pair<BuildId, CodePlace>;
  struct Answer {
    std::vector<NamedFrame> frames;
    size_t size_bytes;
    std::list<const Key*>::iterator place;
  };
  using Answers = std::map<Key, Answer>;

  Answers::iterator Remove(Answers::iterator answer);

  const size_t max_bytes_;
  size_t size_bytes_ = 0;
  Answers answers_;
  std::list<const Key*> order_;  // the last used first; keys of answers_
};

}  // namespace lagwatch::collector
