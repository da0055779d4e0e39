// SPDX-License-Identifier: Apache-2.0
#include "report/format/packed/message_spec.h"

#include <array>

namespace lagwatch::report::packed {
namespace {

template <typename Field>
constexpr FieldSpec Of(Field field, Shape shape, Model model = Model::kAsIs, size_t peer = 0) {
  return {Number(field), shape, model, peer};
}
template <typename Field>
constexpr FieldSpec Of(Field field, Shape shape, const MessageSpec* message) {
  return {Number(field), shape, Model::kAsIs, 0, message};
}
constexpr FieldSpec OfTables(Shape shape, Model model = Model::kAsIs, size_t peer = 0) {
  return {0, shape, model, peer};
}
constexpr FieldSpec OfTables(Shape shape, const MessageSpec* message) {
  return {0, shape, Model::kAsIs, 0, message};
}

// Columns go by number: 2 for each field, 1 for each message, after those of the message before.
constexpr MessageSpec kNothing{{}, kBatchColumnCount - 1};

template <size_t kCount>
constexpr std::array<FieldSpec, kCount> FieldsAfter(const MessageSpec& before,
                                                    const FieldSpec (&fields)[kCount]) {
  std::array<FieldSpec, kCount> numbered = std::to_array(fields);
  for (size_t i = 0; i < kCount; ++i) numbered[i].column = before.unknown_column + 1 + 2 * i;
  return numbered;
}
template <size_t kCount>
constexpr MessageSpec WithFields(const std::array<FieldSpec, kCount>& fields) {
  return {fields, fields.back().column + 2};
}

using enum Shape;
using enum Model;

constexpr auto kModuleFields =
    FieldsAfter(kNothing, {Of(ModuleField::kPath, kText), Of(ModuleField::kBuildId, kText),
                           Of(ModuleField::kLoadBias, kNumber, kDelta)});
constexpr MessageSpec kModule = WithFields(kModuleFields);

constexpr auto kStackFields =
    FieldsAfter(kModule, {Of(StackField::kModule, kNumbers), Of(StackField::kOffset, kNumbers),
                          Of(StackField::kFunctionOffset, kNumbers), OfTables(kNumber, kDelta),
                          Of(StackField::kCompleteness, kNumber), Of(StackField::kGapAt, kNumber),
                          Of(StackField::kGapFrames, kNumber)});
constexpr MessageSpec kStack = WithFields(kStackFields);

constexpr auto kSymbolFields = FieldsAfter(
    kStack, {Of(SymbolField::kModule, kNumber, kDelta), Of(SymbolField::kFunctionOffset, kNumber, kKeyed, 0),
             Of(SymbolField::kName, kText)});
constexpr MessageSpec kSymbol = WithFields(kSymbolFields);

constexpr auto kSampleFields = FieldsAfter(
    kSymbol, {Of(SampleField::kAgeNs, kNumber, kEvenAges), Of(SampleField::kStack, kNumber, kDelta),
              Of(SampleField::kUsedCpuNs, kNumber), Of(SampleField::kUsedMinorFaults, kNumber),
              Of(SampleField::kUsedMajorFaults, kNumber), Of(SampleField::kUsedVoluntarySwitches, kNumber),
              Of(SampleField::kUsedInvoluntarySwitches, kNumber)});
constexpr MessageSpec kSample = WithFields(kSampleFields);

constexpr FieldSpec OfShare(pbf_tag_type number) { return Of(VerdictField{number}, kNumber); }

constexpr auto kVerdictFields = FieldsAfter(
    kSample, {Of(VerdictField::kWord, kNumber), Of(VerdictField::kWallNs, kNumber, kDelta), OfShare(3),
              OfShare(4), OfShare(5), OfShare(6), OfShare(7), OfShare(8), OfShare(9), OfShare(10),
              OfShare(11), OfShare(12), Of(VerdictField::kMinorFaults, kNumber),
              Of(VerdictField::kMajorFaults, kNumber), Of(VerdictField::kVoluntarySwitches, kNumber),
              Of(VerdictField::kInvoluntarySwitches, kNumber), Of(VerdictField::kCpuNs, kNumber)});
constexpr MessageSpec kVerdict = WithFields(kVerdictFields);

constexpr auto kDiscountFields =
    FieldsAfter(kVerdict, {Of(DiscountField::kSuspendedNs, kNumber), Of(DiscountField::kStoppedNs, kNumber),
                           Of(DiscountField::kLateNs, kNumber), Of(DiscountField::kDebuggerPid, kNumber)});
constexpr MessageSpec kDiscount = WithFields(kDiscountFields);

constexpr auto kPastDispatchFields = FieldsAfter(
    kDiscount, {Of(PastDispatchField::kTag, kText), Of(PastDispatchField::kWallNs, kNumber),
                Of(PastDispatchField::kAgeNs, kNumber, kAges, 1), Of(PastDispatchField::kCpuNs, kNumber),
                Of(PastDispatchField::kQueueWaitNs, kNumber)});
constexpr MessageSpec kPastDispatch = WithFields(kPastDispatchFields);

constexpr auto kFactFields = FieldsAfter(
    kPastDispatch,
    {Of(FactField::kName, kText), Of(FactField::kNumber, kNumber, kKeyed, 0), Of(FactField::kText, kText)});
constexpr MessageSpec kFact = WithFields(kFactFields);

constexpr auto kThreadFields =
    FieldsAfter(kFact, {Of(ThreadField::kTid, kNumber, kDelta), Of(ThreadField::kName, kText),
                        Of(ThreadField::kState, kText), Of(ThreadField::kStack, kNumber, kDelta),
                        Of(ThreadField::kCpuNs, kNumber, kKeyed, 0), Of(ThreadField::kWaitChannel, kText),
                        Of(ThreadField::kSyscall, kNumber)});
constexpr MessageSpec kThread = WithFields(kThreadFields);

constexpr auto kWaitFields =
    FieldsAfter(kThread, {Of(WaitField::kTid, kNumber, kDelta), Of(WaitField::kStack, kNumber),
                          Of(WaitField::kLock, kNumber, kDelta), Of(WaitField::kKind, kNumber),
                          Of(WaitField::kWaitsFor, kNumber), Of(WaitField::kHasTimeout, kNumber),
                          Of(WaitField::kOwnerTid, kNumber, kDelta), Of(WaitField::kOwnerName, kText),
                          Of(WaitField::kOwnerStack, kNumber)});
constexpr MessageSpec kWait = WithFields(kWaitFields);

constexpr auto kCpuFields = FieldsAfter(
    kWait,
    {Of(CpuField::kWindowNs, kNumber), Of(CpuField::kThreadNs, kNumber), Of(CpuField::kProcessNs, kNumber)});
constexpr MessageSpec kCpu = WithFields(kCpuFields);

constexpr size_t kReportElapsed = 20;
constexpr auto kReportFields =
    FieldsAfter(kCpu, {Of(ReportField::kModules, kMessages, &kModule),
                       Of(ReportField::kStacks, kMessages, &kStack),
                       Of(ReportField::kSymbols, kMessages, &kSymbol),
                       OfTables(kNumbers),
                       OfTables(kNumber),
                       Of(ReportField::kId, kId),
                       Of(ReportField::kSessionId, kId),
                       Of(ReportField::kHangId, kId),
                       Of(ReportField::kOrdinal, kNumber),
                       Of(ReportField::kApp, kText),
                       Of(ReportField::kAppVersion, kText),
                       Of(ReportField::kUser, kText),
                       Of(ReportField::kOs, kText),
                       Of(ReportField::kMachine, kText),
                       Of(ReportField::kPid, kNumber, kDelta),
                       Of(ReportField::kTid, kNumber, kDelta),
                       Of(ReportField::kLoop, kText),
                       Of(ReportField::kTag, kText),
                       Of(ReportField::kKind, kNumber),
                       Of(ReportField::kThresholdMs, kNumber, kDelta),
                       Of(ReportField::kElapsedNs, kNumber),
                       Of(ReportField::kStartWallMs, kNumber, kIdTime, kReportElapsed),
                       Of(ReportField::kCpu, kMessage, &kCpu),
                       Of(ReportField::kSamples, kMessages, &kSample),
                       Of(ReportField::kExpensiveStack, kNumber),
                       Of(ReportField::kThreads, kMessages, &kThread),
                       Of(ReportField::kThreadsDropped, kNumber),
                       Of(ReportField::kWaits, kMessages, &kWait),
                       Of(ReportField::kWaitOutcome, kNumber),
                       Of(ReportField::kLevel, kNumber),
                       Of(ReportField::kVerdict, kMessage, &kVerdict),
                       Of(ReportField::kDiscount, kMessage, &kDiscount),
                       Of(ReportField::kHistory, kMessages, &kPastDispatch),
                       Of(ReportField::kFacts, kMessages, &kFact),
                       Of(ReportField::kSampleRatePpm, kNumber, kDelta),
                       Of(ReportField::kCause, kFixed64)});
static_assert(kReportFields[kReportElapsed].number == Number(ReportField::kElapsedNs));
constexpr MessageSpec kReport = WithFields(kReportFields);

constexpr auto kHangEndFields =
    FieldsAfter(kReport, {Of(HangEndField::kReportId, kId), Of(HangEndField::kDurationNs, kNumber)});
constexpr MessageSpec kHangEnd = WithFields(kHangEndFields);

constexpr auto kRunEndFields = FieldsAfter(
    kHangEnd,
    {Of(RunEndField::kSessionId, kId), Of(RunEndField::kReason, kNumber), Of(RunEndField::kSignal, kNumber),
     Of(RunEndField::kReportId, kId), Of(RunEndField::kHangNs, kNumber), Of(RunEndField::kLoop, kText),
     Of(RunEndField::kRunStartWallMs, kNumber, kIdTime), Of(RunEndField::kLastSeenWallMs, kNumber, kDelta),
     Of(RunEndField::kScene, kText), Of(RunEndField::kApp, kText), Of(RunEndField::kAppVersion, kText),
     Of(RunEndField::kUser, kText), Of(RunEndField::kSampleRatePpm, kNumber, kDelta)});
constexpr MessageSpec kRunEnd = WithFields(kRunEndFields);

constexpr auto kFrameSliceFields = FieldsAfter(
    kRunEnd,
    {Of(FrameSliceField::kId, kId), Of(FrameSliceField::kSessionId, kId), Of(FrameSliceField::kApp, kText),
     Of(FrameSliceField::kAppVersion, kText), Of(FrameSliceField::kUser, kText),
     Of(FrameSliceField::kLoop, kText), Of(FrameSliceField::kScene, kText),
     Of(FrameSliceField::kDurationNs, kNumber), Of(FrameSliceField::kBeginWallMs, kNumber, kIdTime, 7),
     Of(FrameSliceField::kRefreshIntervalNs, kNumber, kDelta), Of(FrameSliceField::kFrameCount, kNumber),
     Of(FrameSliceField::kDropped, kNumber), Of(FrameSliceField::kFramesByLevel, kNumbers),
     Of(FrameSliceField::kNsByStage, kNumbers), Of(FrameSliceField::kSampleRatePpm, kNumber, kDelta)});
constexpr MessageSpec kFrameSlice = WithFields(kFrameSliceFields);

constexpr auto kLoopUsageFields = FieldsAfter(
    kFrameSlice, {Of(LoopUsageField::kLoop, kText), Of(LoopUsageField::kWatchedNs, kNumber),
                  Of(LoopUsageField::kDispatches, kNumber), Of(LoopUsageField::kUntimedDispatches, kNumber),
                  Of(LoopUsageField::kHangs, kNumber), Of(LoopUsageField::kHangNs, kNumber),
                  Of(LoopUsageField::kDurations, kNumbers)});
constexpr MessageSpec kLoopUsage = WithFields(kLoopUsageFields);

constexpr auto kSlowTagFields =
    FieldsAfter(kLoopUsage, {Of(SlowTagField::kLoop, kText), Of(SlowTagField::kTag, kText),
                             Of(SlowTagField::kCount, kNumber), Of(SlowTagField::kTotalNs, kNumber),
                             Of(SlowTagField::kLongestNs, kNumber), Of(SlowTagField::kDurations, kNumbers)});
constexpr MessageSpec kSlowTag = WithFields(kSlowTagFields);

constexpr auto kSuppressedFields =
    FieldsAfter(kSlowTag, {Of(SuppressedField::kReason, kNumber), Of(SuppressedField::kCount, kNumber)});
constexpr MessageSpec kSuppressed = WithFields(kSuppressedFields);

constexpr auto kUsageFields = FieldsAfter(
    kSuppressed,
    {Of(UsageField::kId, kId), Of(UsageField::kSessionId, kId), Of(UsageField::kApp, kText),
     Of(UsageField::kAppVersion, kText), Of(UsageField::kUser, kText),
     Of(UsageField::kEndWallMs, kNumber, kIdTime), Of(UsageField::kBeginWallMs, kNumber, kDelta),
     Of(UsageField::kLoops, kMessages, &kLoopUsage), Of(UsageField::kSlow, kMessages, &kSlowTag),
     Of(UsageField::kSuppressed, kMessages, &kSuppressed), Of(UsageField::kSampleRatePpm, kNumber, kDelta)});
constexpr MessageSpec kUsage = WithFields(kUsageFields);

constexpr auto kLossFields =
    FieldsAfter(kUsage, {Of(LossField::kReason, kNumber), Of(LossField::kCause, kFixed64),
                         Of(LossField::kCount, kNumber), Of(LossField::kSampleRatePpm, kNumber, kDelta)});
constexpr MessageSpec kLoss = WithFields(kLossFields);

constexpr auto kLossesFields = FieldsAfter(
    kLoss, {Of(LossesField::kId, kId), Of(LossesField::kApp, kText), Of(LossesField::kAppVersion, kText),
            Of(LossesField::kUser, kText), Of(LossesField::kEndWallMs, kNumber, kIdTime),
            Of(LossesField::kBeginWallMs, kNumber, kDelta), Of(LossesField::kLosses, kMessages, &kLoss)});
constexpr MessageSpec kLosses = WithFields(kLossesFields);

constexpr auto kTableModuleFields =
    FieldsAfter(kLosses, {OfTables(kText), OfTables(kText), OfTables(kNumber, kDelta)});
constexpr MessageSpec kTableModule = WithFields(kTableModuleFields);
constexpr auto kFunctionFields = FieldsAfter(
    kTableModule, {OfTables(kNumber), OfTables(kNumber), OfTables(kNumber, kKeyed, 0), OfTables(kText)});
constexpr MessageSpec kFunction = WithFields(kFunctionFields);
constexpr auto kFrameFields = FieldsAfter(kFunction, {OfTables(kNumber), OfTables(kNumber)});
constexpr MessageSpec kFrame = WithFields(kFrameFields);
constexpr auto kNodeFields = FieldsAfter(kFrame, {OfTables(kNumber), OfTables(kNumber)});
constexpr MessageSpec kNode = WithFields(kNodeFields);
constexpr auto kTablesFields =
    FieldsAfter(kNode, {OfTables(kMessages, &kTableModule), OfTables(kMessages, &kFunction),
                        OfTables(kMessages, &kFrame), OfTables(kMessages, &kNode)});

constexpr RecordType kPackedTypes[] = {RecordType::kReport,     RecordType::kHangEnd, RecordType::kRunEnd,
                                       RecordType::kFrameSlice, RecordType::kUsage,   RecordType::kLosses};

}  // namespace

constexpr MessageSpec kTablesSpec = WithFields(kTablesFields);

const MessageSpec* SpecOf(RecordType type) {
  switch (type) {
    case RecordType::kReport:
      return &kReport;
    case RecordType::kHangEnd:
      return &kHangEnd;
    case RecordType::kRunEnd:
      return &kRunEnd;
    case RecordType::kFrameSlice:
      return &kFrameSlice;
    case RecordType::kUsage:
      return &kUsage;
    case RecordType::kLosses:
      return &kLosses;
    case RecordType::kPacked:
    case RecordType::kSealed:
    case RecordType::kTrace:
      break;
  }
  return nullptr;
}

std::span<const RecordType> PackedTypes() { return kPackedTypes; }

size_t ColumnCount() { return kTablesSpec.unknown_column + 1; }

}  // namespace lagwatch::report::packed
