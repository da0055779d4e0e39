// SPDX-License-Identifier: Apache-2.0
// Reads the files that SpoolWriters, of this process or of dead ones, left on disk. Only Remove() changes
// anything. Other files in the directory are ignored, and so are symbolic links and files of another owner
// than the directory's. Context: background.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/env.h"
#include "base/status.h"
#include "report/format/record.h"

namespace lagwatch::report {

struct Segment {
  std::vector<OwnedRecord> records;
  size_t skipped_bytes = 0;    // of no whole record: those of the next two, and bytes that begin none
  size_t damaged_records = 0;  // with a wrong checksum
  size_t cut_records = 0;      // that go on after the end of the file
  // Of records whose report was written again, with more in it, by the next record: they are in neither of
  // the above.
  size_t replaced_bytes = 0;
};

// "18 bytes skipped: 1 record cut short", "nothing skipped".
std::string DescribeSkipped(const Segment& segment);

// The suffix of `name`, kSealedSuffix or another one of a segment's; empty if it is not a segment's name.
std::string_view SegmentSuffix(std::string_view name);

// Finds the whole records in a segment's bytes; damage costs the records that it touches and no others. Of a
// report that was written twice in a row, only the second is among them.
Segment ParseSegment(std::string_view bytes);

class SpoolReader {
 public:
  enum class Include {
    kFinished,  // sealed segments, and open ones whose process has died
    kLiveToo,   // those of running programs as well
  };

  // `env` is borrowed.
  SpoolReader(base::Env* env, std::string directory) : env_(env), directory_(std::move(directory)) {}

  // File names of segments, oldest first; `refused` is the number of those left out because they are links or
  // belong to another user. Errors: kNotFound if the directory does not exist, kIo.
  base::Result<std::vector<std::string>> List(Include include, size_t* refused = nullptr) const;
  // Errors: kNotFound if the segment was sealed or taken since it was listed (list again), kInvalid if it is
  // a link or belongs to another user, kIo.
  base::Result<Segment> Read(const std::string& name) const;
  // Errors: kIo. No error when it is gone already.
  base::Status Remove(const std::string& name) const;

 private:
  // Leaves the names of segments; false when one of them may have been sealed, and got
  // another name, meanwhile.
  bool KeepSegments(Include include, std::vector<std::string>* names, size_t* refused) const;
  std::string PathOf(std::string_view name) const;

  base::Env* env_;
  std::string directory_;
};

}  // namespace lagwatch::report
