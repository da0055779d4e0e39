// SPDX-License-Identifier: Apache-2.0
#include "report/format/field_codec.h"
#include "report/format/report.h"

namespace lagwatch::report {

base::Result<FrameSlice> DecodeFrameSlice(std::string_view bytes) {
  return Guarded("the frames' record", [&] {
    FrameSlice slice;
    ReadFields(kFrameSliceTable, protozero::pbf_message<FrameSliceField>(bytes.data(), bytes.size()), &slice);
    if (slice.id == base::Uuid{}) throw SchemaError{"it has no id"};
    return slice;
  });
}

}  // namespace lagwatch::report
