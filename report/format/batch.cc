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
