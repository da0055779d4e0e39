// SPDX-License-Identifier: Apache-2.0
#include "stack/thread_block_layout.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstring>
#include <thread>

#include "stack/signal/context.h"

namespace lagwatch::stack {
namespace {

ThreadStackNote OwnNote(const ThreadBlockLayout& layout) {
  ThreadStackNote note;
  uint64_t address = ReadThreadPointer() + static_cast<uint64_t>(layout.stack_note_offset);
  std::memcpy(&note, reinterpret_cast<const void*>(address), sizeof note);
  return note;
}

TEST(ThreadBlockLayout, LeadsToWhatTheCLibrarySaysOfAThreadsStack) {
  ThreadBlockLayout layout = FindThreadBlockLayout();
  ASSERT_TRUE(layout.is_known());
  std::thread([&] {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    void* address = nullptr;
    size_t size_bytes = 0;
    pthread_attr_getstack(&attributes, &address, &size_bytes);
    pthread_attr_destroy(&attributes);
    ThreadStackNote note = OwnNote(layout);
    auto stack = reinterpret_cast<uint64_t>(address);
    EXPECT_TRUE(note.Holds(stack));
    EXPECT_EQ(note.address + note.size_bytes, stack + size_bytes);
  }).join();
}

TEST(ThreadBlockLayout, HoldsNoStackOfTheMainThread) {
  ThreadStackNote note = OwnNote(FindThreadBlockLayout());
  EXPECT_FALSE(note.Holds(reinterpret_cast<uint64_t>(&note)));
}

}  // namespace
}  // namespace lagwatch::stack
