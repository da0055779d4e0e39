// SPDX-License-Identifier: Apache-2.0
// A model of the contents of a directory on the disk, as against those that the system shows: the
// difference is lost when the power fails. Entries of the directory reach the disk in their order, at a
// sync of the directory or before it; contents at a sync of the file or before it. Lies in memory that the
// processes of a case share, and in a folder that keeps a second name of each file, so that one that was
// removed can come back.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/faults/random.h"

namespace lagwatch::faults {

class DiskModel {
 public:
  // `directory` is watched from now on; `keep` is an empty folder in the same file system. In shared memory.
  void Begin(const std::string& directory, const std::string& keep);

  // A process locks it around an operation and its note, so that a kill falls between whole operations.
  void Lock();
  void Unlock();

  // Notes of what was done, locked. Paths outside of the directory mean nothing.
  void NoteCreated(const char* path);
  void NoteRenamed(const char* from, const char* to);
  void NoteRemoved(const char* path);
  // `size_bytes` of it at least were there when the sync began.
  void NoteSynced(const char* path, uint64_t size_bytes);
  // A file that was put there, or changed, without this model: the disk has it.
  void Adopt(const std::string& name);

  // The machine is off and on again: the directory holds what the disk had. No process of the case lives.
  void CutPower(Random* random);

 private:
  static constexpr size_t kMaxNameBytes = 72;
  static constexpr size_t kMaxEntries = 512;
  static constexpr size_t kMaxChanges = 512;
  static constexpr size_t kMaxFiles = 16384;

  struct Entry {
    char name[kMaxNameBytes];
    uint32_t file;
  };
  struct Entries {
    Entry at[kMaxEntries];
    size_t count;

    Entry* Find(const char* name);
    void Put(const char* name, uint32_t file);
    void Remove(const char* name);
  };
  struct Change {
    char name[kMaxNameBytes];  // that appears; empty: none does
    char gone[kMaxNameBytes];  // that vanishes; empty: none does
    uint32_t file;
  };

  // The name within the directory; null when it is not in it.
  const char* NameIn(const char* path) const;
  std::string KeptPath(uint32_t file) const;
  void Apply(const Change& change, Entries* entries);
  void Note(const char* appears, const char* vanishes, uint32_t file);
  uint32_t NewFile(const char* name);
  void Restore(const Entry& entry, Random* random);

  pthread_mutex_t mutex_;
  char directory_[1024];
  char keep_[1024];
  Entries shown_;
  Entries durable_;
  Change changes_[kMaxChanges];
  size_t change_count_;
  uint64_t synced_bytes_[kMaxFiles];
  uint32_t file_count_;
};

}  // namespace lagwatch::faults
