// SPDX-License-Identifier: Apache-2.0
// The collector's settings file (TOML): a key for each flag. Context: background.
#pragma once

namespace CLI {
class App;
}

namespace lagwatch::collector {

// Gives `app` the flag --settings FILE. A key is a flag's name with _ for -, such as retention_days; flags
// that may be given several times take a list. The command line overrides the file, and the file the
// environment. Parsing throws a CLI::ParseError that names the line if the file is wrong or has a key that is
// no flag.
void DeclareSettingsFile(CLI::App* app);

}  // namespace lagwatch::collector
