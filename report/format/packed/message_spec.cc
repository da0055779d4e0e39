// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/message_spec.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <utility>

#include "report/format/packed_batch.h"

namespace lagwatch::report::packed {

// The messages in a message follow it, in the order of their fields.
const std::string_view kColumnsText = R"(
tables: +m +m +m +m
tables.+: +t +t +d
tables.+: + + +k+ +t
tables.+: + +
tables.+: + +
1: 19m 20m 24m +p + 1i 2i 3i 4 5t 6t 7t 8t 9t 10d 11d 12t 13t 14 15d 17 16w17 18s 21m 22 23m 25 26m 27 28 29s 30s 31m 32m 33d 34f | 35t
1.19: 1t 2t 3d
1.20: 1p 2p 3p +d 4 5 6
1.24: 1d 2k1 3t
1.18: 1 2 3
1.21: 1e 2d 3 4 5 6 7 | 8 9
1.23: 1d 2t 3t 4d 5k1 6t 7
1.26: 1d 2 3d 4 5 6 7d 8t 9 | 10 11 12t 13t 14 15i 16 17
1.29: 1 2d 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 | 18 19 20 21 22 23 24 25 26 27
1.30: 1 2 3 4
1.31: 1t 3 2a3 4 5
1.32: 1t 2k1 3t
2: 1i 2 | 3
3: 1i 2 3 4i 5 6t 7w 8d 9t 10t 11t 12t 13d
4: 1i 2i 3t 4t 5t 6t 7t 9 8w9 10d 11 12 13p 14p 15d
5: 1i 2i 3t 4t 5t 7w 6d 8m 9m 10m 11d | 12m
5.8: 1t 2 3 4 5 6 7p | 8 9 10
5.9: 1t 2t 3 4 5 6p
5.10: 1 2
5.12: 1t 2t 3 4 5
6: 1i 2t 3t 4t 6w 5d 7m
6.7: 1 2f 3 4d
)";

namespace {

// Takes what is before the next `end` off `text`, and the end too.
std::string_view TakeUntil(char end, std::string_view* text) {
  const std::string_view taken = text->substr(0, text->find(end));
  text->remove_prefix(std::min(taken.size() + 1, text->size()));
  return taken;
}

// 0 for a '+' and for nothing.
pbf_tag_type TakeNumber(std::string_view* text) {
  pbf_tag_type number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const size_t digits = static_cast<size_t>(end - text->data());
  text->remove_prefix(text->starts_with('+') ? 1 : digits);
  return number;
}

template <typename Kind, size_t kCount>
Kind TakeLetter(const std::pair<char, Kind> (&letters)[kCount], Kind none, std::string_view* text) {
  for (const auto& [letter, kind] : letters) {
    if (!text->starts_with(letter)) continue;
    text->remove_prefix(1);
    return kind;
  }
  return none;
}

constexpr std::pair<char, Shape> kShapes[] = {{'t', Shape::kText},    {'f', Shape::kFixed64},
                                              {'i', Shape::kId},      {'p', Shape::kNumbers},
                                              {'s', Shape::kMessage}, {'m', Shape::kMessages}};
constexpr std::pair<char, Model> kModels[] = {{'d', Model::kDelta},
                                              {'k', Model::kKeyed},
                                              {'a', Model::kAges},
                                              {'e', Model::kEvenAges},
                                              {'w', Model::kIdTime}};

// Reads kColumnsText, as far as one version has its columns.
class Layout {
 public:
  explicit Layout(uint32_t version) : version_(version) {
    TakeUntil('\n', &text_);
    tables_ = TakeMessage();
    while (!text_.empty()) {
      std::string_view name = text_;
      const auto type = static_cast<RecordType>(TakeNumber(&name));
      types_.push_back(type);
      records_.at(Number(type)) = TakeMessage();
    }
  }

  const MessageSpec* tables() const { return tables_; }
  const MessageSpec* record(RecordType type) const {
    return Number(type) < records_.size() ? records_[Number(type)] : nullptr;
  }
  std::span<const RecordType> types() const { return types_; }
  size_t column_count() const { return column_count_; }

 private:
  // That of the next line, with the lines of the messages in it.
  const MessageSpec* TakeMessage() {
    MessageSpec& message = messages_.emplace_back();
    std::string_view line = TakeUntil('\n', &text_);
    TakeUntil(' ', &line);
    std::vector<FieldSpec>& fields = message.fields;
    size_t known_count = 0;
    for (uint32_t version = 1; !line.empty();) {
      std::string_view token = TakeUntil(' ', &line);
      if (token == "|") {
        ++version;
      } else {
        fields.push_back(FieldOf(token, fields));
        if (version <= version_) known_count = fields.size();
      }
    }
    message.unknown_column = column_count_++;
    for (FieldSpec& field : fields) {
      if (field.shape == Shape::kMessage || field.shape == Shape::kMessages) field.message = TakeMessage();
    }
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(known_count), fields.end());
    return &message;
  }

  FieldSpec FieldOf(std::string_view token, const std::vector<FieldSpec>& before) {
    FieldSpec field{.number = TakeNumber(&token),
                    .shape = TakeLetter(kShapes, Shape::kNumber, &token),
                    .model = TakeLetter(kModels, Model::kAsIs, &token)};
    // Without a peer it is the first field.
    const pbf_tag_type peer = TakeNumber(&token);
    while (peer != 0 && before[field.peer].number != peer) ++field.peer;
    field.column = std::exchange(column_count_, column_count_ + 2);
    return field;
  }

  uint32_t version_;
  std::string_view text_ = kColumnsText;
  size_t column_count_ = kBatchColumnCount;
  std::deque<MessageSpec> messages_;
  const MessageSpec* tables_ = nullptr;
  std::array<const MessageSpec*, 10> records_ = {};
  std::vector<RecordType> types_;
};

const Layout& LayoutOf(uint32_t version) {
  static const auto* const kLayouts = [] {
    auto* layouts = new std::deque<Layout>;  // never freed: threads may still read at the end
    for (uint32_t each = 1; each <= kPackedVersion; ++each) layouts->emplace_back(each);
    return layouts;
  }();
  return (*kLayouts)[version - 1];
}

}  // namespace

size_t ColumnCount() { return LayoutOf(kPackedVersion).column_count(); }

const MessageSpec* SpecOf(RecordType type, uint32_t version) { return LayoutOf(version).record(type); }

std::span<const RecordType> PackedTypes() { return LayoutOf(kPackedVersion).types(); }

const MessageSpec& TablesSpec() { return *LayoutOf(kPackedVersion).tables(); }

}  // namespace lagwatch::report::packed
