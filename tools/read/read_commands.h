// SPDX-License-Identifier: Apache-2.0
// The commands that read reports: `lagwatch clusters`, `lagwatch reports`, `lagwatch usage`, `lagwatch report
// ID`. Context: background.
#pragma once

#include "tools/read/report_source.h"

namespace CLI {
class App;
}

namespace lagwatch::tools {

// Adds the commands to `app`. The one that is given runs while `app` parses and leaves in `exit_code` 0, or
// 1 when it failed or found nothing of that name; usage errors are CLI::ParseErrors. `exit_code` must
// outlive the parsing.
void AddReadCommands(CLI::App* app, const LoadRecords& load_records, int* exit_code);

}  // namespace lagwatch::tools
