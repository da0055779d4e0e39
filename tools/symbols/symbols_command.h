// SPDX-License-Identifier: Apache-2.0
// `lagwatch symbols upload` and `lagwatch symbols list`. Context: background.
#pragma once

namespace CLI {
class App;
}

namespace lagwatch::tools {

// Adds the commands to `app`. The one that is given runs while `app` parses and leaves in `exit_code` 0, or 1
// when something could not be sent or shown. `exit_code` must outlive the parsing.
void AddSymbolsCommand(CLI::App* app, int* exit_code);

}  // namespace lagwatch::tools
