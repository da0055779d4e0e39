// SPDX-License-Identifier: Apache-2.0
#include "sdk/probe/probe_messages.h"

#include <type_traits>

namespace lagwatch::sdk {
namespace {

// To be raised when the meaning of fields or of a script's program changes, and no field's type.
constexpr uint64_t kRevision = 1;

// Sums up the types of fields, in their order (FNV-1a).
class LayoutSum {
 public:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(const T&) {
    Add(sizeof(T) * 4 + std::is_floating_point_v<T> * 2 + std::is_signed_v<T>);
  }
  void operator()(const std::string&) { Add('s'); }
  template <typename T>
  void operator()(const std::vector<T>&) {
    Add('v');
    AddBody<T>();
  }
  template <typename T>
  requires requires(T& item, LayoutSum& sum) { item.Visit(sum); }
  void operator()(T& item) {
    Add('{');
    item.Visit(*this);
    Add('}');
  }
  template <typename Body>
  void AddBody() {
    Body body;
    (*this)(body);
  }
  void Add(uint64_t number) { sum_ = (sum_ ^ number) * 0x100000001b3; }
  uint16_t sum() const { return static_cast<uint16_t>(sum_ ^ sum_ >> 16 ^ sum_ >> 32 ^ sum_ >> 48); }

 private:
  uint64_t sum_ = 0xcbf29ce484222325;
};

template <typename... Bodies>
uint16_t SumOf() {
  LayoutSum sum;
  for (const uint64_t number : {kRevision, uint64_t{kLastSiteRole}, uint64_t{kLastProbeMessageKind}})
    sum.Add(number);
  (sum.AddBody<Bodies>(), ...);
  return sum.sum();
}

}  // namespace

uint16_t ProbeVersion() {
  static const uint16_t version =
      SumOf<ArmQuestion, ArmAnswer, ProgramQuestion, ListAnswer, FollowAnswer, ReadQuestion, ReadAnswer,
            EventQuestion, LevelQuestion, ExamineQuestion, ExamineAnswer, NumberAnswer, TextAnswer>();
  return version;
}

std::string ProbeDirectory(std::string_view runtime_directory, uint32_t user) {
  if (runtime_directory.starts_with('/')) return std::string(runtime_directory) + "/lagwatch";
  return "/tmp/lagwatch-" + std::to_string(user);
}

std::string ProbeSocketPath(std::string_view directory, int32_t pid) {
  return std::string(directory) + "/probe-" + std::to_string(pid);
}

}  // namespace lagwatch::sdk
