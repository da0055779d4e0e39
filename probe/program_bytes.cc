// SPDX-License-Identifier: Apache-2.0
// One function, Visit(), says for each part of a program what its bytes are; it is run to write as well as to
// read, so that the two cannot differ.
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "probe/program.h"

namespace lagwatch::probe {
namespace {

constexpr std::string_view kMagic = "LWPB";

class ByteWriter {
 public:
  template <typename Number>
  void Do(const Number& number) {
    for (size_t i = 0; i < sizeof number; ++i)
      bytes_ += static_cast<char>(static_cast<uint64_t>(number) >> (8 * i));
  }
  void DoText(const std::string& text, size_t /*most*/) {
    Do(static_cast<uint16_t>(text.size()));
    bytes_ += text;
  }
  template <typename Enum>
  void DoEnum(const Enum& value, Enum /*last*/) {
    Do(static_cast<uint8_t>(value));
  }
  // The number of a list's members; `list` has as many afterwards.
  template <typename List>
  void DoSize(const List& list, size_t /*most*/) {
    Do(static_cast<uint16_t>(list.size()));
  }
  bool failed() const { return false; }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  void Do(Number& number) {
    uint64_t value = 0;
    if (bytes_.size() - at_ < sizeof number) return Fail("it ends too early");
    for (size_t i = 0; i < sizeof number; ++i)
      value |= uint64_t{static_cast<uint8_t>(bytes_[at_++])} << (8 * i);
    number = static_cast<Number>(value);
  }
  void DoText(std::string& text, size_t most) {
    uint16_t size = 0;
    Do(size);
    if (failed()) return;
    if (size > most) return Fail("a text is too long");
    if (bytes_.size() - at_ < size) return Fail("it ends too early");
    text = bytes_.substr(at_, size);
    if (text.find('\0') != std::string::npos) return Fail("a text has a zero byte");
    at_ += size;
  }
  template <typename Enum>
  void DoEnum(Enum& value, Enum last) {
    uint8_t number = 0;
    Do(number);
    if (!failed() && number > static_cast<uint8_t>(last)) return Fail("a number names nothing");
    value = static_cast<Enum>(number);
  }
  template <typename List>
  void DoSize(List& list, size_t most) {
    uint16_t size = 0;
    Do(size);
    if (failed()) return;
    if (size > most) return Fail("a list is too long");
    if (bytes_.size() - at_ < size) return Fail("it ends too early");  // each member has a byte at least
    list.resize(size);
  }
  void Fail(const char* reason) {
    if (reason_ == nullptr) {
      reason_ = reason;
      failed_at_ = at_;
    }
    at_ = bytes_.size();
  }
  bool failed() const { return reason_ != nullptr; }
  bool is_at_end() const { return at_ == bytes_.size(); }
  Status status() const {
    return Status(StatusCode::kInvalid, "not a program of probes: " + std::string(reason_) + " at byte " +
                                            std::to_string(failed_at_));
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  const char* reason_ = nullptr;
  size_t failed_at_ = 0;
};

// `Part` is const when it is written.
template <typename Part, typename Expected>
concept Is = std::is_same_v<std::remove_const_t<Part>, Expected>;

template <typename Bytes, Is<std::string> Text>
void Visit(Bytes& bytes, Text& text) {
  bytes.DoText(text, kMaxTextBytes);
}

template <typename Bytes, Is<int64_t> Number>
void Visit(Bytes& bytes, Number& number) {
  bytes.Do(number);
}

template <typename Bytes, Is<double> Number>
void Visit(Bytes& bytes, Number& number) {
  auto bits = std::bit_cast<uint64_t>(number);
  bytes.Do(bits);
  if constexpr (!std::is_const_v<Number>) number = std::bit_cast<double>(bits);
}

template <typename Bytes, Is<Operation> Part>
void Visit(Bytes& bytes, Part& operation) {
  bytes.DoEnum(operation.code, static_cast<OperationCode>(kOperationCodes - 1));
  bytes.Do(operation.to);
  bytes.Do(operation.a);
  bytes.Do(operation.b);
  bytes.Do(operation.number);
}

template <typename Bytes, Is<Position> Part>
void Visit(Bytes& bytes, Part& position) {
  bytes.Do(position.line);
  bytes.Do(position.column);
}

template <typename Bytes, Is<Field> Part>
void Visit(Bytes& bytes, Part& field) {
  bytes.DoText(field.name, kMaxNameBytes);
  bytes.DoEnum(field.shown, Shown::kLiteral);
  bytes.Do(field.width);
}

template <typename Bytes, typename List>
void VisitList(Bytes& bytes, List& list, size_t most) {
  bytes.DoSize(list, most);
  for (auto& member : list) {
    if (bytes.failed()) return;
    Visit(bytes, member);
  }
}

template <typename Bytes, Is<Aggregate> Part>
void Visit(Bytes& bytes, Part& aggregate) {
  bytes.DoText(aggregate.name, kMaxNameBytes);
  bytes.DoEnum(aggregate.kind, AggregateKind::kLinearHistogram);
  VisitList(bytes, aggregate.keys, kMaxKeys);
  bytes.DoEnum(aggregate.shown, Shown::kStack);
  bytes.Do(aggregate.cells);
  bytes.Do(aggregate.shards);
  bytes.Do(aggregate.lowest);
  bytes.Do(aggregate.step);
  bytes.Do(aggregate.buckets);
  bytes.Do(aggregate.top);
}

template <typename Bytes, Is<Print> Part>
void Visit(Bytes& bytes, Part& print) {
  VisitList(bytes, print.fields, kMaxFields);
}

template <typename Bytes, Is<Request> Part>
void Visit(Bytes& bytes, Part& request) {
  bytes.DoEnum(request.kind, RequestKind::kArm);
  bytes.DoText(request.script, kMaxNameBytes);
  bytes.Do(request.duration_ns);
}

template <typename Bytes, Is<Place> Part>
void Visit(Bytes& bytes, Part& place) {
  bytes.DoEnum(place.kind, static_cast<PlaceKind>(kPlaceKinds - 1));
  bytes.DoEnum(place.is_java, true);
  bytes.DoEnum(place.pattern, PatternKind::kQuoted);
  bytes.DoText(place.module, kMaxNameBytes);
  bytes.DoText(place.name, kMaxNameBytes);
  bytes.DoText(place.source_file, kMaxNameBytes);
  bytes.Do(place.period_ns);
  bytes.DoText(place.target, kMaxNameBytes);
  bytes.Do(place.line);
}

template <typename Bytes, Is<Probe> Part>
void Visit(Bytes& bytes, Part& probe) {
  Visit(bytes, probe.place);
  Visit(bytes, probe.position);
  VisitList(bytes, probe.operations, kMaxOperations);
  VisitList(bytes, probe.positions, kMaxOperations);
}

template <typename Bytes, Is<Program> Part>
void Visit(Bytes& bytes, Part& program) {
  VisitList(bytes, program.int_constants, kMaxConstants);
  VisitList(bytes, program.float_constants, kMaxConstants);
  VisitList(bytes, program.texts, kMaxTexts);
  VisitList(bytes, program.aggregates, kMaxAggregates);
  VisitList(bytes, program.prints, kMaxPrints);
  VisitList(bytes, program.requests, kMaxRequests);
  VisitList(bytes, program.probes, kMaxProbes);
  bytes.Do(program.budget.share_ppm);
  bytes.Do(program.budget.hits_per_second);
  bytes.Do(program.counters);
  bytes.Do(program.records);
  bytes.Do(program.output_per_second);
  bytes.Do(program.stacks);
  bytes.Do(program.level);
}

}  // namespace

std::string Serialize(const Program& program) {
  ByteWriter writer;
  writer.Do(kProgramVersion);
  Visit(writer, program);
  return std::string(kMagic) + writer.Take();
}

Result<Program> ParseProgram(std::string_view bytes) {
  ByteReader reader(bytes.substr(std::min(kMagic.size(), bytes.size())));
  Program program;
  if (bytes.size() > kMaxProgramBytes) reader.Fail("it is too large");
  if (!bytes.starts_with(kMagic)) reader.Fail("its beginning is another one");
  uint16_t version = 0;
  reader.Do(version);
  if (version != kProgramVersion) reader.Fail("it is of another version");
  Visit(reader, program);
  if (!reader.is_at_end()) reader.Fail("it goes on after its end");
  if (reader.failed()) return reader.status();
  return program;
}

}  // namespace lagwatch::probe
