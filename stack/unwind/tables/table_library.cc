// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/tables/table_library.h"

#include <ctime>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/process/own_memory.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kThreadStackBytes = 256 * 1024;
constexpr int64_t kStopTimeoutNs = 3 * base::kNsPerSecond;
constexpr uint8_t kMostGiveUps = 16;
constexpr int64_t kNeverNs = 365 * 86400 * base::kNsPerSecond;

}  // namespace

TableLibrary::TableLibrary(const FrameSectionLoader& files)
    : files_(files),
      tables_(new std::atomic<const UnwindTable*>[ModuleMap::kMaxModules]()),
      states_(new std::atomic<TableState>[ModuleMap::kMaxModules]()),
      modules_(base::MapOwnBlock<Module>(ModuleMap::kMaxModules)),
      give_ups_(new uint8_t[ModuleMap::kMaxModules]()) {}

TableLibrary::~TableLibrary() {
  for (uint32_t i = 0; i < ModuleMap::kMaxModules; ++i) {
    const UnwindTable* table = tables_[i].load();
    for (uint32_t other = i; table != nullptr && other < ModuleMap::kMaxModules; ++other) {
      if (tables_[other].load() == table) tables_[other].store(nullptr);
    }
    delete table;
  }
}

base::Status TableLibrary::Start() {
  if (modules_ == nullptr)
    return base::Status(base::StatusCode::kUnavailable, "no memory for the unwind tables' modules");
  return thread_.Start("lagwatch-tables", kThreadStackBytes, &TableLibrary::Run, this);
}

bool TableLibrary::TryStop() {
  stopping_.store(true);
  sleeper_.Wake();
  return thread_.TryJoin(kStopTimeoutNs);
}

void TableLibrary::Request(uint32_t module_index, const Module& module) {
  if (IsRequested(module_index)) return;
  auto expected = TableState::kUnknown;
  // Pairs with the thread that gave a module up, and read it before.
  if (!states_[module_index].compare_exchange_strong(expected, TableState::kBeingRequested)) return;
  modules_[module_index] = module;
  states_[module_index].store(TableState::kRequested, std::memory_order_release);  // publishes the copy
  sleeper_.Wake();
}

void TableLibrary::UseSource(const ModuleSource* source) {
  const std::lock_guard lock(source_mutex_);
  source_ = source;
}

bool TableLibrary::CopyRequested(uint32_t module_index) {
  const std::lock_guard lock(source_mutex_);
  if (source_ == nullptr) return false;
  modules_[module_index] = source_->CopyModule(module_index);
  return true;
}

void TableLibrary::AwaitForTest() const {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
  for (uint32_t i = 0; i < ModuleMap::kMaxModules; ++i) {
    auto is_under_way = [&](TableState state) {
      return state != TableState::kUnknown && state != TableState::kDone;
    };
    while (is_under_way(states_[i].load())) nanosleep(&kPause, nullptr);
  }
}

void TableLibrary::Run(void* self) {
  auto* library = static_cast<TableLibrary*>(self);
  while (!library->stopping_.load()) {
    library->CompileRequested();
    library->sleeper_.SleepUntil(base::SystemClock().MonoNs() + kNeverNs);
  }
}

void TableLibrary::CompileRequested() {
  for (uint32_t i = 0; i < ModuleMap::kMaxModules && !stopping_.load(); ++i) {
    const TableState state = states_[i].load(std::memory_order_acquire);  // pairs with Request()
    if (state != TableState::kRequested && state != TableState::kWanted) continue;
    if (state == TableState::kWanted && !CopyRequested(i)) {
      states_[i].store(TableState::kDone);
      continue;
    }
    const UnwindTable* table = FindSameBuild(i);
    if (table == nullptr) {
      auto fresh = std::make_unique<UnwindTable>();
      bool has_rules = Compile(modules_[i], fresh.get());
      // The table may be another module's, loaded in this one's place since the request.
      if (!modules_[i].IsStillLoaded() || !fresh->WasReadFrom(modules_[i])) {
        bool is_hopeless = ++give_ups_[i] == kMostGiveUps;
        states_[i].store(is_hopeless ? TableState::kDone : TableState::kUnknown);
        continue;
      }
      if (has_rules) table = fresh.release();
    }
    tables_[i].store(table, std::memory_order_release);  // publishes the table
    states_[i].store(TableState::kDone);
  }
}

bool TableLibrary::Compile(const Module& module, UnwindTable* table) const {
  std::optional<FrameSectionBytes> eh_frame;
  std::optional<FrameSectionBytes> debug_frame;
  const std::string path(module.path_view());
  bool lacks_index = module.eh_frame_hdr == 0;
  if (lacks_index && files_.eh_frame != nullptr) eh_frame = files_.eh_frame(path, module.build_id_view());
  if (files_.debug_frame != nullptr) debug_frame = files_.debug_frame(path, module.build_id_view());
  auto view = [](const std::optional<FrameSectionBytes>& section) {
    return section ? ByteView{section->bytes.data(), section->bytes.size(), section->address} : ByteView{};
  };
  return table->Compile(module, {view(eh_frame), view(debug_frame)}, stopping_);
}

const UnwindTable* TableLibrary::FindSameBuild(uint32_t module_index) const {
  const Module& wanted = modules_[module_index];
  if (wanted.build_id_size == 0) return nullptr;
  for (uint32_t i = 0; i < ModuleMap::kMaxModules; ++i) {
    const UnwindTable* table = tables_[i].load(std::memory_order_relaxed);  // stored by this very thread
    if (table != nullptr && modules_[i].build_id_view() == wanted.build_id_view()) return table;
  }
  return nullptr;
}

}  // namespace lagwatch::stack
