// SPDX-License-Identifier: Apache-2.0
#include "collector/symbols/worker/symbol_worker.h"

#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "collector/symbols/elf/elf_facts.h"
#include "collector/symbols/elf/module_symbols.h"
#include "collector/symbols/mapping/mapping_id.h"
#include "collector/symbols/mapping/mapping_reader.h"
#include "collector/symbols/worker/worker_channel.h"
#include "collector/symbols/worker/worker_messages.h"

namespace lagwatch::collector {
namespace {

constexpr size_t kMaxOpenModules = 4;
constexpr size_t kMaxOpenBytes = 512 << 20;  // of memory, with more than one module
// Those of the modules, of a request, and the socket with the standard streams.
// One more is a .dwo file that is being read.
constexpr unsigned kMaxFiles = (kMaxOpenModules + 1) * kMaxMessageFiles + kWorkerSocket + 2;
// The other side gives up before; this is for when it is gone.
constexpr std::chrono::seconds kMaxRequestTime{120};

class Files {
 public:
  explicit Files(std::vector<int> fds) : fds_(std::move(fds)) {}
  Files(Files&& other) noexcept : fds_(std::exchange(other.fds_, {})) {}
  Files& operator=(Files&&) = delete;
  ~Files() {
    for (int fd : fds_) close(fd);
  }
  std::span<const int> fds() const { return fds_; }

 private:
  std::vector<int> fds_;
};

// Identifies the files, whatever their descriptors.
using FileKey = std::vector<std::tuple<dev_t, ino_t, off_t, time_t, long>>;

FileKey KeyOf(const Files& files) {
  FileKey key;
  for (int fd : files.fds()) {
    struct stat status {};
    fstat(fd, &status);
    key.emplace_back(status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
  }
  return key;
}

class Worker {
 public:
  WorkerAnswer Answer(const WorkerRequest& request, Files files) {
    WorkerAnswer answer;
    Status status = files.fds().empty()      ? Status(StatusCode::kInvalid, "there is no file")
                    : request.places.empty() ? Inspect(request, files, &answer)
                                             : Symbolize(request, std::move(files), &answer);
    if (!status.ok()) answer.error = status.message();
    return answer;
  }

 private:
  struct Module {
    FileKey key;
    Files files;
    std::unique_ptr<ModuleSymbols> symbols;  // or a mapping
    std::unique_ptr<MappingReader> mapping;

    std::vector<NamedFrame> FramesAt(const CodePlace& place) const {
      return mapping ? mapping->FramesAt(place.function, place.number) : symbols->FramesAt(place.number);
    }
  };

  static Status Inspect(const WorkerRequest& request, const Files& files, WorkerAnswer* answer) {
    return request.is_mapping ? InspectMapping(files, answer) : InspectElf(files, answer);
  }

  static Status InspectMapping(const Files& files, WorkerAnswer* answer) {
    auto mapping = LAGWATCH_TRY(MappingReader::Open(files.fds()[0]));
    if (!mapping->map_id().empty()) answer->build_id = MappingIdOfMapId(mapping->map_id());
    answer->has_symbols = true;
    return {};
  }

  static Status InspectElf(const Files& files, WorkerAnswer* answer) {
    auto facts = LAGWATCH_TRY(ReadElfFacts(files.fds()[0]));
    answer->build_id = facts.build_id;
    answer->missing_alt_build_id = facts.alt_build_id;
    answer->has_symbols = facts.has_names();
    answer->note = facts.has_names() ? facts.note : facts.WhyNoNames();
    return {};
  }

  Status Symbolize(const WorkerRequest& request, Files files, WorkerAnswer* answer) {
    auto module = LAGWATCH_TRY(OpenModule(request, std::move(files)));
    if (module->symbols) answer->missing_alt_build_id = module->symbols->missing_alt_build_id();
    for (const CodePlace& place : request.places) answer->frames.push_back(module->FramesAt(place));
    if (module->symbols) answer->note = module->symbols->note();
    return {};
  }

  Result<const Module*> OpenModule(const WorkerRequest& request, Files files) {
    FileKey key = KeyOf(files);
    for (auto module = modules_.begin(); module != modules_.end(); ++module) {
      if (module->key != key) continue;
      modules_.splice(modules_.begin(), modules_, module);
      return &modules_.front();
    }
    DropOldModules();
    Module opened = LAGWATCH_TRY(Open(request, std::move(key), std::move(files)));
    modules_.push_front(std::move(opened));
    return &modules_.front();
  }

  static Result<Module> Open(const WorkerRequest& request, FileKey key, Files files) {
    std::span<const int> fds = files.fds();
    if (request.is_mapping) {
      auto mapping = LAGWATCH_TRY(MappingReader::Open(fds[0]));
      return Module{std::move(key), std::move(files), nullptr, std::move(mapping)};
    }
    const int alt_fd = request.has_alt ? fds.back() : -1;
    auto symbols =
        LAGWATCH_TRY(ModuleSymbols::Open(request.has_alt ? fds.first(fds.size() - 1) : fds, alt_fd));
    return Module{std::move(key), std::move(files), std::move(symbols), nullptr};
  }

  void DropOldModules() {
    if (mallinfo2().uordblks > kMaxOpenBytes) modules_.clear();
    while (modules_.size() >= kMaxOpenModules) modules_.pop_back();
  }

  std::list<Module> modules_;  // the last used first
};

WorkerAnswer SafeAnswer(Worker* worker, const WorkerRequest& request, Files files) {
  try {
    return worker->Answer(request, std::move(files));
  } catch (const std::exception& error) {
    WorkerAnswer answer;
    answer.error = error.what();
    return answer;
  }
}

}  // namespace

int RunSymbolWorker(int socket, FileAccess access) {
  constexpr auto kForEver = ChannelDeadline::max();
  if (!EnterSandbox(kMaxFiles, access)) return 1;
  Worker worker;
  for (;;) {
    std::vector<int> fds;
    SetTimeLimit({});
    auto bytes = ReceiveMessage(socket, &fds, kForEver);
    Files files(std::move(fds));
    auto request = bytes.ok() ? DecodeWorkerRequest(*bytes) : Result<WorkerRequest>(bytes.status());
    if (!request.ok()) return bytes.ok() ? 1 : 0;
    SetTimeLimit(kMaxRequestTime);
    std::string answer = Encode(SafeAnswer(&worker, *request, std::move(files)));
    if (!SendMessage(socket, answer, {}, kForEver).ok()) return 1;
  }
}

}  // namespace lagwatch::collector
