// SPDX-License-Identifier: Apache-2.0
// Whatever a disk made of a segment: every byte is in a record or counted.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "report/spool/segment_format.h"
#include "report/spool/spool_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch::report;
  Segment segment = ParseSegment({reinterpret_cast<const char*>(data), size_bytes});
  size_t accounted_bytes = segment.skipped_bytes + segment.replaced_bytes;
  for (const OwnedRecord& record : segment.records)
    accounted_bytes += sizeof(RecordHeader) + record.payload.size();
  if (accounted_bytes != size_bytes) abort();
  return 0;
}
