// SPDX-License-Identifier: Apache-2.0
// The C ABI of recordings that the program starts itself.
#include <lagwatch/c.h>

#include <algorithm>
#include <cstring>

#include "sdk/c_guarded.h"
#include "sdk/recording.h"

namespace {

using lagwatch::sdk::ProgramRecording;

// Needs no destructor, which would be registered with malloc.
thread_local char t_why_no_recording[256];

// The reason stays for lw_why_no_recording().
bool Note(const lagwatch::base::Status& status) {
  const size_t size = std::min(status.message().size(), sizeof t_why_no_recording - 1);
  std::memcpy(t_why_no_recording, status.message().data(), size);
  t_why_no_recording[size] = '\0';
  return status.ok();
}

lagwatch::sdk::RecordingOptions FromRaw(const lw_recording_options* given) {
  lw_recording_options raw;
  lw_recording_options_init(&raw);
  if (given != nullptr) std::memcpy(&raw, given, std::min(given->struct_size_bytes, sizeof raw));
  lagwatch::sdk::RecordingOptions options;
  options.interval_ns = std::clamp(raw.interval_ms, 1U, 100U) * lagwatch::base::kNsPerMs;
  options.buffer_bytes = uint64_t{std::clamp(raw.buffer_kib, 1024U, 1U << 20)} << 10;
  options.has_hooks = raw.has_hooks != 0;
  if (raw.threads != nullptr) options.threads.assign(raw.threads, raw.threads + raw.thread_count);
  return options;
}

// The reason of a call that ends without one.
constexpr char kNoMemory[] = "no memory";

}  // namespace

extern "C" {

void lw_recording_options_init(lw_recording_options* options) noexcept {
  *options = {};
  options->struct_size_bytes = sizeof *options;
  const lagwatch::sdk::RecordingOptions standard;
  options->interval_ms = static_cast<uint32_t>(standard.interval_ns / lagwatch::base::kNsPerMs);
  options->buffer_kib = static_cast<uint32_t>(standard.buffer_bytes >> 10);
}

lw_status lw_start_recording(const lw_recording_options* options) noexcept {
  std::memcpy(t_why_no_recording, kNoMemory, sizeof kNoMemory);
  return lagwatch::sdk::Guarded(
      LW_OFF, [&] { return Note(ProgramRecording::Instance().Start(FromRaw(options))) ? LW_OK : LW_OFF; });
}

int lw_stop_recording(const char* path) noexcept {
  std::memcpy(t_why_no_recording, kNoMemory, sizeof kNoMemory);
  return lagwatch::sdk::Guarded(
      0, [&] { return Note(ProgramRecording::Instance().Stop(path == nullptr ? "" : path)) ? 1 : 0; });
}

const char* lw_why_no_recording(void) noexcept { return t_why_no_recording; }

}  // extern "C"
