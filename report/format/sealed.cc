// SPDX-License-Identifier: Apache-2.0
#include "report/format/sealed.h"

#include "report/format/guarded_read.h"

namespace lagwatch::report {
namespace {

using protozero::pbf_message;

constexpr size_t kKeyBytes = 32;

template <typename Number>
unsigned char* PutLittleEndian(Number number, unsigned char* at) {
  for (size_t i = 0; i < sizeof number; ++i) *at++ = static_cast<unsigned char>(number >> 8 * i);
  return at;
}

std::string_view ReadBytes(pbf_message<SealedField>* message) {
  const auto view = message->get_view();
  return {view.data(), view.size()};
}

Sealed ReadSealed(pbf_message<SealedField> message) {
  Sealed sealed;
  while (message.next()) {
    switch (message.tag()) {
      case SealedField::kType:
        sealed.label.type = static_cast<RecordType>(message.get_uint32());
        break;
      case SealedField::kId:
        sealed.label.id = ReadUuid(&message);
        break;
      case SealedField::kCause:
        sealed.label.cause = message.get_fixed64();
        break;
      case SealedField::kPriority:
        sealed.label.priority = message.get_uint32();
        break;
      case SealedField::kEphemeralKey:
        sealed.ephemeral_key = ReadBytes(&message);
        break;
      case SealedField::kNonce:
        sealed.nonce = ReadBytes(&message);
        break;
      case SealedField::kSealed:
        sealed.sealed = ReadBytes(&message);
        break;
      case SealedField::kSampleRatePpm:
        sealed.sample_rate_ppm = message.get_uint32();
        break;
      default:
        message.skip();
    }
  }
  if (Number(sealed.label.type) == 0) throw SchemaError{"it does not say what is sealed"};
  if (sealed.label.id == base::Uuid{}) throw SchemaError{"it has no id"};
  if (sealed.ephemeral_key.size() != kKeyBytes) throw SchemaError{"its key is not 32 bytes"};
  if (sealed.nonce.size() != kSealNonceBytes) throw SchemaError{"its nonce is not 12 bytes"};
  if (sealed.sealed.size() < kSealTagBytes) throw SchemaError{"it is shorter than its tag"};
  return sealed;
}

}  // namespace

std::array<unsigned char, 32> AuthenticatedBytes(const SealedLabel& label) {
  std::array<unsigned char, 32> bytes;
  unsigned char* at = PutLittleEndian(Number(label.type), bytes.data());
  for (const auto byte : label.id.bytes) *at++ = byte;
  PutLittleEndian(label.priority, PutLittleEndian(label.cause, at));
  return bytes;
}

bool EncodeSealed(const Sealed& sealed, FixedBuffer* buffer) {
  buffer->Clear();
  FixedWriter writer(*buffer);
  auto put_bytes = [&](SealedField field, std::string_view bytes) {
    writer.add_bytes(Number(field), bytes.data(), bytes.size());
  };
  writer.add_uint32(Number(SealedField::kType), Number(sealed.label.type));
  put_bytes(SealedField::kId, sealed.label.id.as_bytes());
  if (sealed.label.cause != 0) writer.add_fixed64(Number(SealedField::kCause), sealed.label.cause);
  if (sealed.label.priority != 0) writer.add_uint32(Number(SealedField::kPriority), sealed.label.priority);
  put_bytes(SealedField::kEphemeralKey, sealed.ephemeral_key);
  put_bytes(SealedField::kNonce, sealed.nonce);
  put_bytes(SealedField::kSealed, sealed.sealed);
  return !buffer->overflowed();
}

base::Result<Sealed> DecodeSealed(std::string_view bytes) {
  return Guarded("the sealed record",
                 [&] { return ReadSealed(pbf_message<SealedField>(bytes.data(), bytes.size())); });
}

}  // namespace lagwatch::report
