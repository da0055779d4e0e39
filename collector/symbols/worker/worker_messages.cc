// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/worker/worker_messages.h"

#include "report/format/guarded_read.h"

namespace lagwatch::collector {
namespace {

using report::Guarded;

enum class RequestField : protozero::pbf_tag_type { kHasAlt = 1, kOffsets = 2 };
enum class AnswerField : protozero::pbf_tag_type {
  kError = 1,
  kBuildId = 2,
  kMissingAlt = 3,
  kHasSymbols = 4,
  kPlace = 5,
};
enum class PlaceField : protozero::pbf_tag_type { kFrame = 1 };
enum class FrameField : protozero::pbf_tag_type { kFunction = 1, kFile = 2, kLine = 3, kIsInlined = 4 };

void Write(const std::vector<NamedFrame>& frames, std::string* bytes) {
  protozero::pbf_builder<PlaceField> place(*bytes);
  for (const NamedFrame& frame : frames) {
    protozero::pbf_builder<FrameField> writer(place, PlaceField::kFrame);
    writer.add_string(FrameField::kFunction, frame.function);
    writer.add_string(FrameField::kFile, frame.file);
    writer.add_uint32(FrameField::kLine, frame.line);
    writer.add_bool(FrameField::kIsInlined, frame.is_inlined);
  }
}

NamedFrame ReadFrame(protozero::pbf_message<FrameField> reader) {
  NamedFrame frame;
  while (reader.next()) {
    switch (reader.tag()) {
      case FrameField::kFunction:
        frame.function = reader.get_string();
        break;
      case FrameField::kFile:
        frame.file = reader.get_string();
        break;
      case FrameField::kLine:
        frame.line = reader.get_uint32();
        break;
      case FrameField::kIsInlined:
        frame.is_inlined = reader.get_bool();
        break;
      default:
        reader.skip();
    }
  }
  return frame;
}

std::vector<NamedFrame> ReadPlace(protozero::pbf_message<PlaceField> reader) {
  std::vector<NamedFrame> frames;
  while (reader.next(PlaceField::kFrame, protozero::pbf_wire_type::length_delimited)) {
    frames.push_back(ReadFrame(reader.get_message()));
  }
  return frames;
}

WorkerAnswer ReadAnswer(protozero::pbf_message<AnswerField> reader) {
  WorkerAnswer answer;
  while (reader.next()) {
    switch (reader.tag()) {
      case AnswerField::kError:
        answer.error = reader.get_string();
        break;
      case AnswerField::kBuildId:
        answer.build_id = reader.get_bytes();
        break;
      case AnswerField::kMissingAlt:
        answer.missing_alt_build_id = reader.get_bytes();
        break;
      case AnswerField::kHasSymbols:
        answer.has_symbols = reader.get_bool();
        break;
      case AnswerField::kPlace:
        answer.frames.push_back(ReadPlace(reader.get_message()));
        break;
      default:
        reader.skip();
    }
  }
  return answer;
}

WorkerRequest ReadRequest(protozero::pbf_message<RequestField> reader) {
  WorkerRequest request;
  while (reader.next()) {
    switch (reader.tag()) {
      case RequestField::kHasAlt:
        request.has_alt = reader.get_bool();
        break;
      case RequestField::kOffsets:
        for (uint64_t offset : reader.get_packed_uint64()) request.offsets.push_back(offset);
        break;
      default:
        reader.skip();
    }
  }
  return request;
}

}  // namespace

std::string Encode(const WorkerRequest& request) {
  std::string bytes;
  protozero::pbf_builder<RequestField> writer(bytes);
  writer.add_bool(RequestField::kHasAlt, request.has_alt);
  writer.add_packed_uint64(RequestField::kOffsets, request.offsets.begin(), request.offsets.end());
  return bytes;
}

std::string Encode(const WorkerAnswer& answer) {
  std::string bytes;
  protozero::pbf_builder<AnswerField> writer(bytes);
  writer.add_string(AnswerField::kError, answer.error);
  writer.add_bytes(AnswerField::kBuildId, answer.build_id);
  writer.add_bytes(AnswerField::kMissingAlt, answer.missing_alt_build_id);
  writer.add_bool(AnswerField::kHasSymbols, answer.has_symbols);
  for (const auto& frames : answer.frames) {
    std::string place;
    Write(frames, &place);
    writer.add_message(AnswerField::kPlace, place);
  }
  return bytes;
}

base::Result<WorkerRequest> DecodeWorkerRequest(std::string_view bytes) {
  return Guarded("the worker's request", [bytes] {
    return ReadRequest(protozero::pbf_message<RequestField>(bytes.data(), bytes.size()));
  });
}

base::Result<WorkerAnswer> DecodeWorkerAnswer(std::string_view bytes) {
  return Guarded("the worker's answer", [bytes] {
    return ReadAnswer(protozero::pbf_message<AnswerField>(bytes.data(), bytes.size()));
  });
}

}  // namespace lagwatch::collector
