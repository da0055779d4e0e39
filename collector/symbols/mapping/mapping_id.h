// SPDX-License-Identifier: Apache-2.0
// Identifies the mappings of R8 and ProGuard, which have the original names of renamed Java classes. A
// mapping has no build id. It is found by the app and its version, or by the id that R8 writes into the
// mapping and into the file names of frames ("r8-map-id-ID"). Context: background; pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/format/report.h"

namespace lagwatch::collector {

// The module of frames of Java and Kotlin.
inline constexpr std::string_view kJavaModule = "[java]";

// Both are raw bytes that stand for a build id.
std::string MappingIdOfApp(std::string_view app, std::string_view app_version);
std::string MappingIdOfMapId(std::string_view map_id);

// Whether a build id stands for a mapping; and for one by its own id.
bool IsMappingId(std::string_view build_id);
bool IsMappingIdOfMapId(std::string_view build_id);

// The mappings that may name frames of a report, the likeliest first; none if it has no frames of Java.
std::vector<std::string> MappingIdsOf(const report::Report& report);

// Those that a report waits for: none if no frame of its expensive stack looks renamed.
std::vector<std::string> WantedMappingIdsOf(const report::Report& report);

// Whether a frame's file is one that developers have, such as "Main.kt". Renamed frames have "SourceFile",
// "r8-map-id-…", or none.
bool IsSourceFileName(std::string_view file);

}  // namespace lagwatch::collector
