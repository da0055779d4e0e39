// SPDX-License-Identifier: Apache-2.0
// `lagwatch cause`: shows and changes the annotation of a cause. Context: background.
#pragma once

namespace CLI {
class App;
}

namespace lagwatch::tools {

// Adds the command to `app`. When it is given, it runs while `app` parses and leaves in `exit_code` 0, or 1
// when nothing was changed. `exit_code` must outlive the parsing.
void AddCauseCommand(CLI::App* app, int* exit_code);

}  // namespace lagwatch::tools
