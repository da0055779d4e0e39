// SPDX-License-Identifier: Apache-2.0
// Reads what SpoolWriters, of this process or of dead ones, left on disk. Changes nothing but by Remove().
// Other files in the directory are left alone, and so are symbolic links and files that belong to somebody
// else than the directory does. Context: background.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/env.h"
#include "base/status.h"
#include "report/format/record.h"

namespace lagwatch::report {

struct Segment {
  std::vector<OwnedRecord> records;
  size_t skipped_bytes = 0;    // of no whole record: those of the next two, and bytes that begin none
  size_t damaged_records = 0;  // with a wrong checksum
  size_t cut_records = 0;      // that go on after the end of the file
};

// "18 bytes skipped: 1 record cut short", "nothing skipped".
std::string DescribeSkipped(const Segment& segment);

// How `name` ends, kSealedSuffix or another one of a segment's; empty when it is no segment's name.
std::string_view SegmentSuffix(std::string_view name);

// Finds the whole records in a segment's bytes; damage costs the records that it touches and no others.
Segment ParseSegment(std::string_view bytes);

class SpoolReader {
 public:
  enum class Include {
    kFinished,  // sealed segments, and open ones whose process has died
    kLiveToo,   // those of running programs as well
  };

  // `env` is borrowed.
  SpoolReader(base::Env* env, std::string directory) : env_(env), directory_(std::move(directory)) {}

  // File names of segments, oldest first; in `refused`, how many were left out because they are links or
  // somebody else's. Errors: kNotFound when there is no such directory, kIo.
  base::Result<std::vector<std::string>> List(Include include, size_t* refused = nullptr) const;
  // Errors: kNotFound when the segment was sealed or taken since it was listed (list again), kInvalid when it
  // is a link or somebody else's, kIo.
  base::Result<Segment> Read(const std::string& name) const;
  // Errors: kIo. No error when it is gone already.
  base::Status Remove(const std::string& name) const;

 private:
  // Leaves the names of segments; false when one of them may have been sealed, and got another name,
  // meanwhile.
  bool KeepSegments(Include include, std::vector<std::string>* names, size_t* refused) const;
  std::string PathOf(std::string_view name) const;

  base::Env* env_;
  std::string directory_;
};

}  // namespace lagwatch::report
