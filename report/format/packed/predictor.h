// SPDX-License-Identifier: Apache-2.0
// What a field's number is likely to be, by those that came before: only the difference is told. Packing and
// unpacking ask the same questions in the same order. Context: background; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/packed/message.h"

namespace lagwatch::report::packed {

class Predictor {
 public:
  // Of the field at `place` of `message`, which is the `index`-th of its list. Fields before it are known.
  uint64_t Predict(const Message& message, size_t place, size_t index);
  // What it is.
  void Learn(const Message& message, size_t place, size_t index, uint64_t number);

 private:
  struct Past {
    uint64_t last = 0;
    uint64_t step = 0;
    // In order: a hash would let a hostile batch choose keys that collide.
    std::map<std::string, uint64_t, std::less<>> by_key;

    uint64_t& NumberOf(std::string_view key);  // 0 when the key is new
  };

  std::vector<Past> past_ = std::vector<Past>(ColumnCount());
};

// Whether differences of this model can be below 0.
inline bool IsSigned(Model model) { return model != Model::kAsIs; }

}  // namespace lagwatch::report::packed
