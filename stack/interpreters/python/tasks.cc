// SPDX-License-Identifier: Apache-2.0
#include "stack/interpreters/python/tasks.h"

#include <cstdio>

namespace lagwatch::stack::python {

size_t Tasks::FindCurrent(uint64_t interpreter, std::span<Task> tasks) {
  size_t count = 0;
  const uint64_t dict = FindDict(interpreter);
  if (dict == 0) return 0;
  objects_->VisitDict(dict, [&](uint64_t /*loop*/, uint64_t task) {
    if (ReadTask(task, &tasks[count]) && tasks[count].frame != 0) ++count;
    return count == tasks.size();
  });
  return count;
}

uint64_t Tasks::FindDict(uint64_t interpreter) {
  constexpr uint64_t kDictOfModule = 16;
  const uint64_t dict_type = objects_->symbols().dict_type;
  if (interpreter_ == interpreter && dict_ != 0 && objects_->IsOfType(dict_, dict_type)) return dict_;
  uint64_t modules = 0;
  Memory& memory = objects_->memory();
  if (layout_->modules == kNone || !memory.Read(interpreter + layout_->modules, &modules)) return 0;
  const int64_t count = objects_->CountOf(modules);
  if (interpreter_ == interpreter && module_count_ == count) return 0;
  interpreter_ = interpreter;
  module_count_ = count;
  dict_ = 0;
  const uint64_t module = objects_->FindInDict(modules, "_asyncio");
  uint64_t members = 0;
  if (objects_->IsOfType(module, objects_->symbols().module_type) &&
      memory.Read(module + kDictOfModule, &members))
    dict_ = objects_->FindInDict(members, "_current_tasks");
  if (!objects_->IsOfType(dict_, dict_type)) dict_ = 0;
  return dict_;
}

bool Tasks::ReadTask(uint64_t address, Task* task) {
  Memory& memory = objects_->memory();
  *task = {.address = address, .coroutine = 0, .frame = 0};
  if (address % 8 != 0 || !memory.Read(address + layout_->task_coroutine, &task->coroutine) ||
      !objects_->IsOfType(task->coroutine, objects_->symbols().coroutine_type))
    return false;
  task->frame = task->coroutine + layout_->coroutine_frame;
  return layout_->has_frame_in_coroutine || memory.Read(task->frame, &task->frame);
}

bool Tasks::FindAwaiter(const Task& task, Task* awaiter) {
  constexpr uint64_t kFirstCallback = 24;  // of a future; those that follow are no task's that waits
  constexpr uint64_t kSelfOfFunction = 24;
  constexpr uint64_t kTaskOfWakeup = 16;  // until 3.9, when its type is not exported
  Memory& memory = objects_->memory();
  uint64_t callback = 0;
  uint64_t address = 0;
  uint64_t awaited = 0;
  if (!memory.Read(task.address + kFirstCallback, &callback) || callback == 0 || callback % 8 != 0)
    return false;
  const bool is_function = objects_->IsOfType(callback, objects_->symbols().function_type);
  return memory.Read(callback + (is_function ? kSelfOfFunction : kTaskOfWakeup), &address) &&
         ReadTask(address, awaiter) && awaiter->frame != 0 &&
         memory.Read(address + layout_->task_coroutine - sizeof address, &awaited) && awaited == task.address;
}

size_t Tasks::ReadName(const Task& task, char* text, size_t size_bytes) {
  uint64_t name = 0;
  if (!objects_->memory().Read(task.address + layout_->task_coroutine + sizeof name, &name)) return 0;
  if (const size_t size = objects_->ReadText(name, text, size_bytes)) return size;
  // Since 3.12 a name that nothing asked for is only a number.
  const int64_t number = objects_->ReadNumber(name);
  const int size =
      number < 0 ? 0 : std::snprintf(text, size_bytes, "Task-%lld", static_cast<long long>(number));
  return size > 0 && static_cast<size_t>(size) < size_bytes ? static_cast<size_t>(size) : 0;
}

}  // namespace lagwatch::stack::python
