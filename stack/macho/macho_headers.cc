// SPDX-License-Identifier: Apache-2.0
#include "stack/macho/macho_headers.h"

#include <algorithm>
#include <cstring>

#include "base/process/safe_memory.h"

namespace lagwatch::stack {
namespace {

// From <mach-o/loader.h>.
constexpr uint32_t kMagic64 = 0xfeedfacf;
constexpr uint32_t kSegment64 = 0x19;
constexpr uint32_t kUuid = 0x1b;
constexpr uint32_t kExecutable = 4;  // VM_PROT_EXECUTE

struct FileHeader {
  uint32_t magic;
  uint32_t cpu_type;
  uint32_t cpu_subtype;
  uint32_t file_type;
  uint32_t command_count;
  uint32_t commands_bytes;
  uint32_t flags;
  uint32_t reserved;
};
struct Command {
  uint32_t type;
  uint32_t size_bytes;
};
struct Segment {
  Command command;
  char name[16];
  uint64_t address;
  uint64_t size_bytes;
  uint64_t file_offset;
  uint64_t file_bytes;
  uint32_t most_protection;
  uint32_t protection;
  uint32_t section_count;
  uint32_t flags;
};
struct Uuid {
  Command command;
  unsigned char bytes[MachoHeaders::kUuidBytes];
};

constexpr uint32_t kMostCommands = 1024;

void AddCodeSegment(const Segment& segment, MachoHeaders* headers) {
  if (headers->code_segment_count == ElfHeaders::kMaxCodeSegments) return;
  headers->code_segments[headers->code_segment_count++] = {segment.file_offset, segment.size_bytes,
                                                           segment.address};
}

}  // namespace

bool ReadMachoHeaders(uint64_t base, MachoHeaders* headers) {
  *headers = {};
  FileHeader header;
  if (!base::ReadOwnValue(base, &header) || header.magic != kMagic64) return false;
  const uint64_t end = base + sizeof header + header.commands_bytes;
  uint64_t at = base + sizeof header;
  bool has_begin = false;
  Command command;
  for (uint32_t i = 0; i < std::min(header.command_count, kMostCommands) && at + sizeof command <= end; ++i) {
    if (!base::ReadOwnValue(at, &command) || command.size_bytes < sizeof command ||
        command.size_bytes > end - at) {
      return false;
    }
    if (command.type == kSegment64) {
      Segment segment;
      if (command.size_bytes < sizeof segment || !base::ReadOwnValue(at, &segment)) return false;
      // The segment that begins the file holds this header.
      if (segment.file_offset == 0 && segment.file_bytes != 0) {
        headers->load_bias = base - segment.address;
        has_begin = true;
      }
      if ((segment.protection & kExecutable) != 0) AddCodeSegment(segment, headers);
    } else if (command.type == kUuid) {
      Uuid uuid;
      if (command.size_bytes < sizeof uuid || !base::ReadOwnValue(at, &uuid)) return false;
      std::memcpy(headers->uuid, uuid.bytes, sizeof uuid.bytes);
      headers->has_uuid = true;
    }
    at += command.size_bytes;
  }
  for (size_t i = 0; i < headers->code_segment_count; ++i) {
    const CodeSegment& segment = headers->code_segments[i];
    headers->end = std::max(headers->end, headers->load_bias + segment.address + segment.size_bytes);
  }
  return has_begin;
}

}  // namespace lagwatch::stack
