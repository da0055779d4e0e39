// SPDX-License-Identifier: Apache-2.0
// A block of a recording that another process may have damaged: read within its bounds; and what was read is
// what is written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trace/record/run_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  using namespace lagwatch::trace;
  const char* bytes = reinterpret_cast<const char*>(data);
  RunCodecState state{};
  RunCodecState written_state{};
  RunCodecState read_state{};
  char written[2][kMaxRunBytes];  // the last tag lies in the other one
  for (size_t at = 0, i = 0; at < size_bytes; ++i) {
    RunRecord run;
    const size_t used = DecodeRun(bytes + at, size_bytes - at, &state, &run);
    if (used > size_bytes - at) abort();
    if (used == 0) break;
    at += used;
    const bool is_sane = run.end_ns >= run.begin_ns && run.tag.size() <= kMaxTagBytes;
    if (!is_sane) break;
    written_state.tag = read_state.tag = {};
    const size_t written_bytes = EncodeRun(run, &written_state, written[i % 2]);
    RunRecord again;
    if (written_bytes > kMaxRunBytes ||
        DecodeRun(written[i % 2], written_bytes, &read_state, &again) != written_bytes)
      abort();
    const bool is_same = again.begin_ns == run.begin_ns && again.end_ns == run.end_ns &&
                         again.tid == run.tid && again.count == run.count && again.stack == run.stack &&
                         again.dispatch == run.dispatch && again.object == run.object &&
                         again.kind == run.kind && again.tag == run.tag;
    if (!is_same) abort();
  }
  return 0;
}
