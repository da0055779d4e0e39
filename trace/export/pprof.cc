// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/gzip/gzip.h"
#include "base/text.h"
#include "trace/export/export.h"
#include "trace/export/proto.h"
#include "trace/export/timeline.h"
#include "trace/model/functions.h"
#include "trace/model/weights.h"

namespace lagwatch::trace {
namespace {

enum class ProfileField : FieldNumber {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
};
enum class ValueTypeField : FieldNumber { kType = 1, kUnit = 2 };
enum class ProfileSampleField : FieldNumber { kLocationId = 1, kValue = 2, kLabel = 3 };
enum class LabelField : FieldNumber { kKey = 1, kStr = 2, kNum = 3 };
enum class ProfileMappingField : FieldNumber {
  kId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
};
enum class LocationField : FieldNumber { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4 };
enum class LineField : FieldNumber { kFunctionId = 1, kLine = 2 };
enum class FunctionField : FieldNumber { kId = 1, kName = 2, kSystemName = 3, kFilename = 4 };

// Ids are indices, plus 1, as 0 is none.
class ProfileWriter {
 public:
  ProfileWriter(const Trace& trace, const StackWeights& weights)
      : trace_(trace), weights_(weights), is_used_(trace.frames.size()), profile_(bytes_) {
    Text("");
  }

  std::string Write() {
    AddValueType(ProfileField::kSampleType, "samples", "count");
    AddValueType(ProfileField::kSampleType, "time", "nanoseconds");
    for (const StackTime& weighted : weights_.stacks) AddSample(weighted);
    AddMappings();
    AddLocations();
    profile_.add_int64(ProfileField::kTimeNanos, trace_.begin_ns + trace_.wall_minus_mono_ns);
    profile_.add_int64(ProfileField::kDurationNanos, trace_.end_ns - trace_.begin_ns);
    AddValueType(ProfileField::kPeriodType, "time", "nanoseconds");
    profile_.add_int64(ProfileField::kPeriod, trace_.sample_interval_ns);
    for (const Loss& loss : trace_.losses)
      profile_.add_int64(ProfileField::kComment,
                         Text("lost: " + OneLine(loss.what) + " " + std::to_string(loss.count) +
                              (loss.remedy.empty() ? "" : ", avoided by " + OneLine(loss.remedy))));
    profile_.add_int64(ProfileField::kDefaultSampleType, Text("time"));
    for (const std::string* text : texts_) profile_.add_string(ProfileField::kStringTable, *text);
    return std::move(bytes_);
  }

 private:
  int64_t Text(const std::string& text) {
    const auto [found, is_new] = text_ids_.try_emplace(text, static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }

  void AddValueType(ProfileField field, const char* type, const char* unit) {
    ProtoWriter<ValueTypeField> value_type(profile_, field);
    value_type.add_int64(ValueTypeField::kType, Text(type));
    value_type.add_int64(ValueTypeField::kUnit, Text(unit));
  }

  void AddSample(const StackTime& weighted) {
    FindPath(weights_.nodes, trace_.frames.size(), weighted.stack, &path_);
    locations_.clear();
    for (size_t i = path_.size(); i > 0; --i) {
      const uint32_t frame = weights_.nodes[path_[i - 1]].frame;
      is_used_[frame] = true;
      locations_.push_back(uint64_t{frame} + 1);
    }
    const int64_t values[] = {static_cast<int64_t>(weighted.count), weighted.time_ns};
    const Thread& thread = trace_.threads[weighted.thread];
    ProtoWriter<ProfileSampleField> sample(profile_, ProfileField::kSample);
    sample.add_packed_uint64(ProfileSampleField::kLocationId, locations_.begin(), locations_.end());
    sample.add_packed_int64(ProfileSampleField::kValue, std::begin(values), std::end(values));
    ProtoWriter<LabelField> name(sample, ProfileSampleField::kLabel);
    name.add_int64(LabelField::kKey, Text("thread"));
    name.add_int64(LabelField::kStr, Text(ThreadName(thread)));
    name.commit();
    ProtoWriter<LabelField> tid(sample, ProfileSampleField::kLabel);
    tid.add_int64(LabelField::kKey, Text("tid"));
    tid.add_int64(LabelField::kNum, thread.tid);
  }

  // The end of a module is unknown; its last sampled address takes its place.
  void AddMappings() {
    constexpr uint64_t kPageBytes = 4096;
    std::vector<uint64_t> limits(trace_.modules.size());
    std::vector<bool> has_names(trace_.modules.size()), has_files(trace_.modules.size());
    for (size_t i = 0; i < trace_.frames.size(); ++i) {
      const NamedFrame& frame = trace_.frames[i];
      if (!is_used_[i] || frame.module >= limits.size()) continue;
      limits[frame.module] = std::max(limits[frame.module], frame.offset + 1);
      if (!frame.name.empty()) has_names[frame.module] = true;
      if (!frame.file.empty()) has_files[frame.module] = true;
    }
    for (size_t i = 0; i < limits.size(); ++i) {
      if (limits[i] == 0) continue;
      const Module& module = trace_.modules[i];
      ProtoWriter<ProfileMappingField> mapping(profile_, ProfileField::kMapping);
      mapping.add_uint64(ProfileMappingField::kId, i + 1);
      mapping.add_uint64(ProfileMappingField::kMemoryStart, module.load_bias);
      mapping.add_uint64(ProfileMappingField::kMemoryLimit,
                         module.load_bias + (limits[i] + kPageBytes - 1) / kPageBytes * kPageBytes);
      mapping.add_int64(ProfileMappingField::kFilename, Text(OneLine(module.path)));
      mapping.add_int64(ProfileMappingField::kBuildId, Text(base::ToHex(module.build_id)));
      mapping.add_bool(ProfileMappingField::kHasFunctions, has_names[i]);
      mapping.add_bool(ProfileMappingField::kHasFilenames, has_files[i]);
      mapping.add_bool(ProfileMappingField::kHasLineNumbers, has_files[i]);
    }
  }

  void AddLocations() {
    const std::vector<uint32_t> functions = FunctionNumbers(trace_);
    const std::vector<std::string> names = FunctionNames(trace_, functions);
    std::vector<bool> is_written(names.size());
    for (size_t i = 0; i < trace_.frames.size(); ++i) {
      if (!is_used_[i]) continue;
      const NamedFrame& frame = trace_.frames[i];
      AddLocation(i + 1, frame, functions[i]);
      if (is_written[functions[i]]) continue;
      is_written[functions[i]] = true;
      ProtoWriter<FunctionField> function(profile_, ProfileField::kFunction);
      function.add_uint64(FunctionField::kId, uint64_t{functions[i]} + 1);
      function.add_int64(FunctionField::kName, Text(names[functions[i]]));
      function.add_int64(FunctionField::kSystemName, Text(names[functions[i]]));
      function.add_int64(FunctionField::kFilename, Text(OneLine(frame.file)));
    }
  }

  void AddLocation(uint64_t id, const NamedFrame& frame, uint32_t function) {
    const bool has_module = frame.module < trace_.modules.size();
    ProtoWriter<LocationField> location(profile_, ProfileField::kLocation);
    location.add_uint64(LocationField::kId, id);
    if (has_module) location.add_uint64(LocationField::kMappingId, uint64_t{frame.module} + 1);
    location.add_uint64(LocationField::kAddress,
                        frame.offset + (has_module ? trace_.modules[frame.module].load_bias : 0));
    ProtoWriter<LineField> line(location, LocationField::kLine);
    line.add_uint64(LineField::kFunctionId, uint64_t{function} + 1);
    line.add_int64(LineField::kLine, frame.line);
  }

  const Trace& trace_;
  const StackWeights& weights_;
  std::vector<bool> is_used_;  // by frame
  std::string bytes_;
  ProtoWriter<ProfileField> profile_;
  std::unordered_map<std::string, int64_t> text_ids_;
  std::vector<const std::string*> texts_;
  std::vector<uint32_t> path_;
  std::vector<uint64_t> locations_;
};

}  // namespace

std::string PprofProfile(const Trace& trace, const SliceOptions& options) {
  return base::Gzip(ProfileWriter(trace, WeighStacks(trace, options)).Write());
}

}  // namespace lagwatch::trace
