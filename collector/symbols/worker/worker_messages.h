// SPDX-License-Identifier: Apache-2.0
// The messages between the collector and a symbol worker: Protocol Buffers, because the answer comes from a
// process that has read hostile files and may be under their control. Context: background; pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "collector/symbols/elf/named_frame.h"

namespace lagwatch::collector {

// Files go along as descriptors: the module's, and then, if `has_alt`, the one of dwz; or one mapping.
// Without places the worker only looks at what the first file is.
struct WorkerRequest {
  bool has_alt = false;
  bool is_mapping = false;
  std::vector<CodePlace> places = {};
};

struct WorkerAnswer {
  std::string error;     // empty when it is an answer
  std::string build_id;  // of the first file, raw bytes; of a mapping MappingIdOfMapId(), if it has one
  std::string missing_alt_build_id;                  // wanted and not given; raw bytes
  bool has_symbols = false;                          // or DWARF, or a class of a mapping
  std::string note = {};                             // parts of the files that cannot be read, and why
  std::vector<std::vector<NamedFrame>> frames = {};  // of each place
};

std::string Encode(const WorkerRequest& request);
std::string Encode(const WorkerAnswer& answer);
// Errors: kInvalid.
base::Result<WorkerRequest> DecodeWorkerRequest(std::string_view bytes);
base::Result<WorkerAnswer> DecodeWorkerAnswer(std::string_view bytes);

}  // namespace lagwatch::collector
