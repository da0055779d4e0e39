// SPDX-License-Identifier: Apache-2.0
#include "report/format/field_codec.h"
#include "report/format/report.h"

namespace lagwatch::report {

using protozero::pbf_message;

base::Result<std::vector<Record>> SplitBatch(std::string_view bytes) {
  return Guarded("the batch", [&] {
    std::vector<Record> records;
    pbf_message<RecordType> message(bytes.data(), bytes.size());
    while (message.next()) {
      if (message.wire_type() != protozero::pbf_wire_type::length_delimited) {
        message.skip();
        continue;
      }
      const RecordType type = message.tag();
      auto view = message.get_view();
      records.push_back({type, {view.data(), view.size()}});
    }
    return records;
  });
}

void AppendToBatch(const Record& record, std::string* batch) {
  protozero::pbf_writer(*batch).add_bytes(Number(record.type), record.payload.data(), record.payload.size());
}

void AppendSymbol(const Symbol& symbol, std::string* encoded_report) {
  protozero::pbf_writer report(*encoded_report);
  protozero::pbf_writer writer(report, Number(ReportField::kSymbols));
  WriteFields(kSymbolTable, symbol, &writer);
}

void AppendTag(std::string_view tag, std::string* encoded_report) {
  protozero::pbf_writer(*encoded_report).add_string(Number(ReportField::kTag), tag.data(), tag.size());
}

void ReplaceHistoryTags(const std::function<std::optional<std::string>(std::string_view tag)>& tag_of,
                        std::string* encoded_report) {
  std::string replaced;
  bool is_changed = false;
  const auto done = Guarded("the report", [&] {
    protozero::pbf_reader message(*encoded_report);
    const char* begin = message.data().data();
    for (; message.next(); begin = message.data().data()) {
      const bool is_history = message.tag() == Number(ReportField::kHistory) &&
                              message.wire_type() == protozero::pbf_wire_type::length_delimited;
      PastDispatch dispatch;
      std::optional<std::string> tag;
      if (is_history) {
        const protozero::data_view view = message.get_view();
        dispatch = ReadRecord<PastDispatch>(kPastDispatchTable, {view.data(), view.size()});
        tag = tag_of(dispatch.tag);
      } else {
        message.skip();
      }
      if (!tag) {
        replaced.append(begin, message.data().data());
        continue;
      }
      is_changed = true;
      dispatch.tag = *std::move(tag);
      protozero::pbf_writer report(replaced);
      protozero::pbf_writer writer(report, Number(ReportField::kHistory));
      WriteFields(kPastDispatchTable, dispatch, &writer);
    }
    return true;
  });
  if (done.ok() && is_changed) *encoded_report = std::move(replaced);
}

void AppendCause(uint64_t cause, std::string* encoded_report) {
  protozero::pbf_writer(*encoded_report).add_fixed64(Number(ReportField::kCause), cause);
}

void AppendSampleRate(RecordType type, uint32_t sample_rate_ppm, std::string* encoded_record) {
  // The rate has a number in each.
  auto append = [&](pbf_tag_type number) {
    protozero::pbf_writer(*encoded_record).add_uint32(number, sample_rate_ppm);
  };
  switch (type) {
    case RecordType::kReport:
      return append(33);
    case RecordType::kRunEnd:
      return append(13);
    case RecordType::kFrameSlice:
      return append(15);
    case RecordType::kUsage:
      return append(11);
    case RecordType::kSealed:
      return append(9);
    case RecordType::kTrace:
      return append(12);
    case RecordType::kHangEnd:
    case RecordType::kLosses:
    case RecordType::kPacked:
      return;
  }
}

}  // namespace lagwatch::report
