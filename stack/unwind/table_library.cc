// SPDX-License-Identifier: Apache-2.0
#include "stack/unwind/table_library.h"

#include <ctime>

#include "base/clock.h"

namespace lagwatch::stack {
namespace {

constexpr size_t kThreadStackBytes = 256 * 1024;
constexpr int64_t kStopTimeoutNs = 3 * base::kNsPerSecond;
constexpr int64_t kNeverNs = 365 * 86400 * base::kNsPerSecond;

}  // namespace

TableLibrary::TableLibrary(DebugFrameLoader load_debug_frame)
    : load_debug_frame_(load_debug_frame),
      tables_(new std::atomic<const UnwindTable*>[ModuleMap::kMaxModules]()),
      states_(new std::atomic<State>[ModuleMap::kMaxModules]()),
      modules_(new Module[ModuleMap::kMaxModules]) {}

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
  return thread_.Start("lagwatch-tables", kThreadStackBytes, &TableLibrary::Run, this);
}

bool TableLibrary::TryStop() {
  stopping_.store(true);
  sleeper_.Wake();
  return thread_.TryJoin(kStopTimeoutNs);
}

void TableLibrary::Request(uint32_t module_index, const Module& module) {
  if (states_[module_index].load(std::memory_order_relaxed) != State::kUnknown)
    return;  // only we leave kUnknown
  modules_[module_index] = module;
  states_[module_index].store(State::kRequested, std::memory_order_release);  // publishes the copy
  sleeper_.Wake();
}

void TableLibrary::AwaitForTest() const {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = base::kNsPerMs};
  for (uint32_t i = 0; i < ModuleMap::kMaxModules; ++i) {
    while (states_[i].load() == State::kRequested) nanosleep(&kPause, nullptr);
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
    if (states_[i].load(std::memory_order_acquire) != State::kRequested) continue;  // pairs with Request()
    const UnwindTable* table = FindSameBuild(i);
    if (table == nullptr) table = Compile(modules_[i]);
    tables_[i].store(table, std::memory_order_release);  // publishes the table
    states_[i].store(State::kDone);
  }
}

const UnwindTable* TableLibrary::Compile(const Module& module) const {
  std::optional<DebugFrame> section;
  if (load_debug_frame_ != nullptr)
    section = load_debug_frame_(std::string(module.path_view()), module.build_id_view());
  ByteView debug_frame;
  if (section) debug_frame = {section->bytes.data(), section->bytes.size(), section->address};
  auto table = std::make_unique<UnwindTable>();
  return table->Compile(module, debug_frame, stopping_) ? table.release() : nullptr;
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
