// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/worker/worker_messages.h"

#include "report/format/field_codec.h"

namespace lagwatch::collector {
namespace {

using protozero::pbf_message;
using Writer = report::Writer<std::string>;

// Of the messages within messages; the tables have the numbers of all other fields.
enum class RequestField : protozero::pbf_tag_type { kPlace = 3 };
enum class AnswerField : protozero::pbf_tag_type { kPlace = 5 };
enum class PlaceField : protozero::pbf_tag_type { kFrame = 1 };

constexpr auto kRequestTable = [](auto& part, auto visit) {
  return visit(1, part.has_alt) || visit(2, part.is_mapping);
};

constexpr auto kCodePlaceTable = [](auto& part, auto visit) {
  return visit(1, part.function) || visit(2, part.number);
};

constexpr auto kAnswerTable = [](auto& part, auto visit) {
  return visit(1, part.error) || visit(2, part.build_id) || visit(3, part.missing_alt_build_id) ||
         visit(4, part.has_symbols) || visit(6, part.note);
};

constexpr auto kFrameTable = [](auto& part, auto visit) {
  return visit(1, part.function) || visit(2, part.file) || visit(3, part.line) || visit(4, part.is_inlined);
};

// Places and frames are written even when they are empty.
void Write(const std::vector<NamedFrame>& frames, std::string* bytes) {
  Writer place(*bytes);
  for (const NamedFrame& frame : frames) {
    std::string encoded;
    Writer writer(encoded);
    report::WriteFields(kFrameTable, frame, &writer);
    place.add_message(report::Number(PlaceField::kFrame), encoded);
  }
}

std::vector<NamedFrame> ReadPlace(pbf_message<PlaceField> reader) {
  std::vector<NamedFrame> frames;
  while (reader.next(PlaceField::kFrame, protozero::pbf_wire_type::length_delimited))
    report::ReadFields(kFrameTable, reader.get_message(), &frames.emplace_back());
  return frames;
}

WorkerAnswer ReadAnswer(pbf_message<AnswerField> reader) {
  WorkerAnswer answer;
  while (reader.next()) {
    if (reader.tag() == AnswerField::kPlace) {
      answer.frames.push_back(ReadPlace(reader.get_message()));
    } else if (!report::TryReadField(kAnswerTable, &reader, &answer)) {
      reader.skip();
    }
  }
  return answer;
}

WorkerRequest ReadRequest(pbf_message<RequestField> reader) {
  WorkerRequest request;
  while (reader.next()) {
    if (reader.tag() == RequestField::kPlace) {
      report::ReadFields(kCodePlaceTable, reader.get_message(), &request.places.emplace_back());
    } else if (!report::TryReadField(kRequestTable, &reader, &request)) {
      reader.skip();
    }
  }
  return request;
}

}  // namespace

std::string Encode(const WorkerRequest& request) {
  std::string bytes;
  Writer writer(bytes);
  report::WriteFields(kRequestTable, request, &writer);
  for (const CodePlace& place : request.places) {
    std::string encoded;
    Writer place_writer(encoded);
    report::WriteFields(kCodePlaceTable, place, &place_writer);
    writer.add_message(report::Number(RequestField::kPlace), encoded);
  }
  return bytes;
}

std::string Encode(const WorkerAnswer& answer) {
  std::string bytes;
  Writer writer(bytes);
  report::WriteFields(kAnswerTable, answer, &writer);
  for (const auto& frames : answer.frames) {
    std::string place;
    Write(frames, &place);
    writer.add_message(report::Number(AnswerField::kPlace), place);
  }
  return bytes;
}

base::Result<WorkerRequest> DecodeWorkerRequest(std::string_view bytes) {
  return report::Guarded("the worker's request", [bytes] {
    return ReadRequest(pbf_message<RequestField>(bytes.data(), bytes.size()));
  });
}

base::Result<WorkerAnswer> DecodeWorkerAnswer(std::string_view bytes) {
  return report::Guarded("the worker's answer", [bytes] {
    return ReadAnswer(pbf_message<AnswerField>(bytes.data(), bytes.size()));
  });
}

}  // namespace lagwatch::collector
