// SPDX-License-Identifier: Apache-2.0
// The editor's commands. Three of them freeze the loop that they are handled in.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "index.h"

class Editor {
 public:
  // The work that freezes takes about `freeze`: that which computes is sized on this machine, now.
  Editor(std::string save_path, std::chrono::milliseconds freeze);

  // Handles one command; false when there is no such command.
  bool Handle(const std::string& command);

 private:
  void OnKey();
  void OnReindex();
  void OnFind();
  void OnSave();
  void OnPaste();

  std::string save_path_;
  std::chrono::milliseconds freeze_;
  std::string text_;
  Index index_;
  size_t index_passes_;
  std::vector<std::string> lines_to_save_;
  std::vector<std::string> lines_to_paste_;
};
