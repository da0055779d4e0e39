// SPDX-License-Identifier: Apache-2.0
// `lagwatch delete`: deletes a collector's data of a user, a cause, a key, a program, or one
// report. Context: background.
#pragma once

namespace CLI {
class App;
}

namespace lagwatch::tools {

// Adds the command to `app`. When it is given, it runs while `app` parses and leaves in `exit_code` 0, or 1
// when the collector could not delete. `exit_code` must outlive the parsing.
void AddDeleteCommand(CLI::App* app, int* exit_code);

}  // namespace lagwatch::tools
