// SPDX-License-Identifier: Apache-2.0
// A core file as a process that can be looked at: its memory, its registers, and the texts of /proc as the
// kernel would have printed them. Context: background. Linux.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/owned_fd.h"
#include "base/process/core_image.h"
#include "base/process/process.h"
#include "base/status.h"
#include "tools/core/core_file.h"
#include "tools/core/core_modules.h"
#include "tools/temporary_directory.h"

namespace lagwatch::tools {

class CoreProcess final : public base::CoreImage {
 public:
  // `program` as of CoreModules::Find(). Errors: those of CoreFile::Open() and CoreModules::Find(); kIo if
  // there is no room for temporary files. There is one at a time.
  static base::Result<std::unique_ptr<CoreProcess>> Open(const std::string& path, const std::string& program);

  // Valid as long as this object.
  base::Process process() const { return base::Process::Core(this); }
  const CoreFile& file() const { return file_; }
  const CoreModules& modules() const { return modules_; }

  int32_t pid() const override { return file_.pid(); }
  const char* folder() const override { return folder_.c_str(); }
  size_t Read(uint64_t address, void* destination, size_t size_bytes) const override;
  bool ReadRegisters(int32_t tid, void* registers, size_t size_bytes) const override;

 private:
  explicit CoreProcess(CoreFile file) : file_(std::move(file)), directory_("lagwatch-core") {}
  base::Status Write();
  bool WriteThread(const CoreThread& thread) const;
  bool WriteText(const std::string& leaf, const std::string& text) const;
  std::string MapsText() const;
  std::string MapLine(const CoreSegment& segment) const;
  bool IsCode(const CoreFileRange& range) const;
  uint64_t MainStack() const;

  CoreFile file_;
  CoreModules modules_;
  TemporaryDirectory directory_;
  base::OwnedFd opened_directory_;
  std::string folder_;
};

}  // namespace lagwatch::tools
