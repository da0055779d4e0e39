// SPDX-License-Identifier: Apache-2.0
// The file that a program is recorded into while it runs: in memory, where there is such a
// place. Context: background.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "trace/record/arena.h"

namespace lagwatch::tools {

// Removes the file at the end; mappings stay.
class ArenaFile {
 public:
  // Errors: kIo.
  static base::Result<std::unique_ptr<ArenaFile>> Create(const trace::Arena::Sizes& sizes);
  ~ArenaFile();
  ArenaFile(const ArenaFile&) = delete;
  ArenaFile& operator=(const ArenaFile&) = delete;

  // Puts the rules for the recorder into a file beside it. Errors: kIo.
  base::Status WriteRules(const std::string& text);
  // Empty until then.
  const std::string& rules_path() const { return rules_path_; }
  // Makes the files the user's, which cannot open them otherwise. Errors: kIo.
  base::Status LetIn(uid_t uid) const;
  const std::string& path() const { return path_; }
  trace::Arena& arena() const { return *arena_; }

 private:
  ArenaFile(std::string path, std::unique_ptr<trace::Arena> arena);

  std::string path_;
  std::string rules_path_;
  std::unique_ptr<trace::Arena> arena_;
};

}  // namespace lagwatch::tools
