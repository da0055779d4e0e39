// SPDX-License-Identifier: Apache-2.0
#include "collector/store/clickhouse/insert/batch_spool.h"

#include <cerrno>
#include <charconv>
#include <cstdio>

#include "base/crc32c.h"
#include "collector/store/clickhouse/server/row_binary.h"

namespace lagwatch::collector {
namespace {

constexpr std::string_view kSuffix = ".batch";
constexpr std::string_view kUnfinished = ".new";
constexpr char kPart = 'p';
constexpr char kKey = 'k';

// 0 when it is no batch's.
uint64_t NumberOf(const std::string& name) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && std::string_view(end) == kSuffix ? number : 0;
}

Status WriteWhole(base::Env* env, const std::string& path, const std::string& bytes) {
  const std::string unfinished = path + std::string(kUnfinished);
  int file = -1;
  int error = env->CreateLocked(unfinished.c_str(), &file);
  if (error != 0) return IoError("cannot create " + unfinished, error);
  error = env->Append(file, bytes.data(), bytes.size());
  env->Close(file);
  if (error == 0) error = env->Sync(unfinished.c_str());
  if (error == 0) error = env->Rename(unfinished.c_str(), path.c_str());
  if (error == 0) error = env->Sync(path.substr(0, path.rfind('/')).c_str());
  if (error == 0) return {};
  env->Remove(unfinished.c_str());
  env->Remove(path.c_str());
  return IoError("cannot write " + path, error);
}

}  // namespace

// A checksum, then items: a letter and its texts.
std::string Batch::Encode() const {
  RowWriter items;
  for (const Part& part : parts) {
    items.Text(std::string_view(&kPart, 1));
    items.Text(part.target);
    items.Text(part.rows);
  }
  for (const std::string& key : keys) {
    items.Text(std::string_view(&kKey, 1));
    items.Text(key);
  }
  RowWriter batch;
  batch.Int(base::Crc32c(items.bytes().data(), items.bytes().size()));
  return batch.bytes() + items.bytes();
}

base::Result<Batch> Batch::Decode(std::string_view bytes) {
  const Status damaged(StatusCode::kInternal, "a batch on its way to ClickHouse is damaged");
  Row row;
  if (!row.Take("i", &bytes) || row.Int(0) != int64_t{base::Crc32c(bytes.data(), bytes.size())})
    return damaged;
  Batch batch;
  while (!bytes.empty()) {
    if (!row.Take("s", &bytes)) return damaged;
    const std::string item = row.Text(0);
    if (item[0] == kPart && row.Take("ss", &bytes)) {
      batch.parts.push_back({row.Text(0), row.Text(1)});
    } else if (item[0] == kKey && row.Take("s", &bytes)) {
      batch.keys.push_back(row.Text(0));
    } else {
      return damaged;
    }
  }
  return batch;
}

Status WriteBatchFile(base::Env* env, const std::string& path, const Batch& batch) {
  return WriteWhole(env, path, batch.Encode());
}

base::Result<std::unique_ptr<BatchSpool>> BatchSpool::Open(base::Env* env, const std::string& directory) {
  std::unique_ptr<BatchSpool> spool(new BatchSpool(env, directory));
  if (Status status = spool->Start(); !status.ok()) return status;
  return spool;
}

Status BatchSpool::Start() {
  if (int error = env_->CreateDirectories(directory_)) return IoError("cannot create " + directory_, error);
  const std::string lock = directory_ + "/lock";
  if (int error = env_->Lock(lock.c_str(), &lock_)) {
    if (error == EWOULDBLOCK) return {StatusCode::kUnavailable, "another collector uses " + directory_};
    return IoError("cannot lock " + lock, error);
  }
  std::vector<std::string> names;
  if (int error = env_->List(directory_, &names)) return IoError("cannot list " + directory_, error);
  for (const std::string& name : names) {
    const std::string path = directory_ + "/" + name;
    if (name.ends_with(kUnfinished)) env_->Remove(path.c_str());
    const uint64_t number = NumberOf(name);
    base::FileFacts facts;
    if (number == 0 || env_->Look(path.c_str(), &facts) != 0) continue;
    numbers_.push_back(number);
    sizes_.push_back(facts.size_bytes);
    size_bytes_ += facts.size_bytes;
    next_number_ = number + 1;
  }
  return {};
}

BatchSpool::~BatchSpool() {
  if (lock_ >= 0) env_->Unlock(lock_);
}

// Names sort as numbers do.
std::string BatchSpool::PathOf(uint64_t number) const {
  char name[32];
  std::snprintf(name, sizeof(name), "/%020llu", static_cast<unsigned long long>(number));
  return directory_ + name + std::string(kSuffix);
}

base::Result<uint64_t> BatchSpool::Append(const Batch& batch) {
  const std::string bytes = batch.Encode();
  if (Status written = WriteWhole(env_, PathOf(next_number_), bytes); !written.ok()) return written;
  numbers_.push_back(next_number_);
  sizes_.push_back(bytes.size());
  size_bytes_ += bytes.size();
  return next_number_++;
}

base::Result<Batch> BatchSpool::Read(uint64_t number) const {
  std::string bytes;
  const std::string path = PathOf(number);
  if (int error = env_->ReadAll(path, &bytes)) return IoError("cannot read " + path, error);
  return Batch::Decode(bytes);
}

Status BatchSpool::RemoveFirst() {
  const std::string path = PathOf(numbers_.front());
  if (int error = env_->Remove(path.c_str())) return IoError("cannot remove " + path, error);
  ForgetFirst();
  return {};
}

Status BatchSpool::SetFirstAside() {
  const std::string path = PathOf(numbers_.front());
  if (int error = env_->Rename(path.c_str(), (path + ".damaged").c_str()))
    return IoError("cannot rename " + path, error);
  ForgetFirst();
  return {};
}

void BatchSpool::ForgetFirst() {
  numbers_.pop_front();
  size_bytes_ -= sizes_.front();
  sizes_.pop_front();
}

}  // namespace lagwatch::collector
