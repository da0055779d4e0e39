// SPDX-License-Identifier: Apache-2.0
#include "trace/instrument/call_recorder.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/thread_end_key.h"
#include "trace/instrument/call_writer.h"
#include "trace/instrument/coarse_clock.h"

namespace lagwatch::trace {

alignas(64) uint64_t g_call_state = 0;
constinit thread_local CallWriter t_call_writer;

namespace {

// When so many events in a row have found the writer busy, a signal handler has jumped out of the event that
// made it so: no handler makes that many calls.
constexpr uint32_t kBusyEventsTillAbandoned = 4096;
// After a refused claim, so many events are dropped before the next one is tried.
constexpr uint32_t kEventsTillNextClaim = 1024;
// Destructors of other keys may still call: the block is closed in the last round but one.
constexpr uint32_t kEndRounds = 3;
constexpr uint64_t kTicksBeforeBlock = uint64_t{1} << 30;
constexpr uint32_t kMaxSessions = (CallWriter::kBusy >> 1) - 1;
constexpr uint32_t kLargestEntryBytes = 3 * sizeof(uint64_t);  // two notes and the event

pthread_mutex_t g_control = PTHREAD_MUTEX_INITIALIZER;  // guards all of the following, which start and stop
                                                        // change
BlockPoolHeader* g_pool = nullptr;                      // recording threads read it
uint32_t g_session_count = 0;
pthread_key_t g_end_key;
bool g_has_end_key = false;
bool g_has_fork_handler = false;
CoarseClock g_coarse_clock;

uint64_t g_events_in_handlers = 0;
uint64_t g_events_without_block = 0;
uint64_t g_blocks_abandoned = 0;

LAGWATCH_UNTRACED void Count(uint64_t* counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}  // a statistic

LAGWATCH_UNTRACED void CloseBlock(CallWriter* writer) {
  if (writer->block != nullptr) BlockPool::Close(writer->block);
  writer->block = nullptr;
}

// Context: the end of a thread, several times.
LAGWATCH_UNTRACED void EndThread(void* self) {
  CallWriter* writer = static_cast<CallWriter*>(self);
  if (++writer->end_rounds < kEndRounds) {
    pthread_setspecific(g_end_key, writer);
    return;
  }
  writer->session = CallWriter::kBusy;  // for good
  FenceHandlers();
  CloseBlock(writer);
}

LAGWATCH_UNTRACED void JoinSession(CallWriter* writer, uint32_t session) {
  CloseBlock(writer);
  if (writer->tid == 0) {
    writer->tid = static_cast<int32_t>(syscall(SYS_gettid));
    pthread_setspecific(g_end_key, writer);
  }
  writer->near_base = CallWriter::kNoBase;
  writer->far_base = CallWriter::kNoBase;
  writer->refused_events = 0;
  writer->last_session = session;
}

LAGWATCH_UNTRACED void AppendWord(Block* block, uint64_t word) {
  StoreCallWord(block, block->used_bytes.load(std::memory_order_relaxed), word);  // only we change it
}

LAGWATCH_UNTRACED void AppendFarBase(CallWriter* writer) {
  AppendWord(writer->block, CallEventWord::kFarBaseNote | writer->far_base >> CallEventWord::kBaseShift);
}

// Room for an event, if it is one that a block can still take.
LAGWATCH_UNTRACED bool ClaimBlock(CallWriter* writer, uint64_t ticks, uint64_t address) {
  if (writer->refused_events != 0 && ++writer->refused_events < kEventsTillNextClaim) return false;
  CloseBlock(writer);
  if (writer->near_base == CallWriter::kNoBase) writer->near_base = CallEventWord::BaseAround(address);
  BlockPool pool(__atomic_load_n(&g_pool, __ATOMIC_ACQUIRE));  // pairs with Start's: the pool's content
  // A handler may begin a block between a function's look at the clock and its own event, which is earlier.
  const uint64_t base_ticks = ticks > kTicksBeforeBlock ? ticks - kTicksBeforeBlock : 0;
  writer->block = pool.Claim(BlockKind::kCalls, writer->tid, base_ticks, writer->near_base);
  writer->base_ticks = base_ticks;
  writer->refused_events = writer->block == nullptr ? 1 : 0;
  if (writer->block == nullptr) return false;
  if ((writer->last_session & 1) != 0) AppendWord(writer->block, CallEventWord::kCoarseNote);
  if (writer->far_base != CallWriter::kNoBase) AppendFarBase(writer);
  return true;
}

// The bits for `address`.
LAGWATCH_UNTRACED uint64_t AddressBits(CallWriter* writer, uint64_t address) {
  const uint64_t near_offset = address - writer->near_base;
  if (near_offset < CallEventWord::kAddressMask) return near_offset << CallEventWord::kAddressShift;
  if (address - writer->far_base >= CallEventWord::kAddressMask) {
    writer->far_base = CallEventWord::BaseAround(address);
    AppendFarBase(writer);
  }
  return (address - writer->far_base) << CallEventWord::kAddressShift | CallEventWord::kIsFar;
}

// The bits for the time.
LAGWATCH_UNTRACED uint64_t TimeBits(CallWriter* writer, uint64_t state, uint64_t ticks) {
  if ((writer->last_session & 1) != 0) return state & UINT32_MAX;
  const uint64_t block_ticks = writer->block->base;
  // Some handler took very long.
  if (static_cast<int64_t>(ticks - block_ticks) < 0) ticks = block_ticks;
  const uint64_t wraps = (ticks - block_ticks) >> 32;
  const uint64_t base_ticks = block_ticks + (wraps << 32);
  if (base_ticks != writer->base_ticks)
    AppendWord(writer->block, CallEventWord::kWrapsNote | (wraps & UINT32_MAX));
  writer->base_ticks = base_ticks;
  return ticks - base_ticks;
}

LAGWATCH_UNTRACED void Append(CallWriter* writer, uint64_t address, uint64_t flags, uint64_t state,
                              uint64_t ticks) {
  if (ticks == 0) ticks = base::ReadTicks();
  Block* block = writer->block;
  const bool has_room = block != nullptr && block->used_bytes.load(std::memory_order_relaxed) +  // our own
                                                    kLargestEntryBytes <=
                                                Block::kRoomBytes;
  if (!has_room && !ClaimBlock(writer, ticks, address)) return Count(&g_events_without_block);
  const uint64_t time_bits = TimeBits(writer, state, ticks);
  const uint64_t address_bits = AddressBits(writer, address);
  AppendWord(writer->block, time_bits | address_bits | flags);
}

void ForgetInChild() {
  __atomic_store_n(&g_call_state, 0, __ATOMIC_RELAXED);  // the child has one thread
  // The blocks are the parent's.
  t_call_writer = CallWriter();
  g_coarse_clock.ForgetInChild();
  pthread_mutex_init(&g_control, nullptr);
}

bool Prepare() {
  if (!g_has_end_key) g_has_end_key = base::CreateThreadEndKey(&g_end_key, &EndThread);
  if (!g_has_fork_handler) g_has_fork_handler = pthread_atfork(nullptr, nullptr, &ForgetInChild) == 0;
  return g_has_end_key && g_has_fork_handler;
}

}  // namespace

void RecordSlowly(uint64_t address, uint64_t flags, uint64_t state, uint64_t ticks) {
  const uint32_t session = static_cast<uint32_t>(state >> 32);
  CallWriter& writer = t_call_writer;
  if (writer.session == CallWriter::kBusy) {
    Count(&g_events_in_handlers);
    if (++writer.busy_events < kBusyEventsTillAbandoned || writer.end_rounds >= kEndRounds) return;
    // If a thread is still in there, it continues with a block that stays its own.
    if (writer.block != nullptr) Count(&g_blocks_abandoned);
    writer.block = nullptr;
  }
  writer.session = CallWriter::kBusy;
  FenceHandlers();
  writer.busy_events = 0;
  if (writer.last_session != session) JoinSession(&writer, session);
  Append(&writer, address, flags, state, ticks);
  FenceHandlers();
  writer.session = writer.block == nullptr ? CallWriter::kNone : session;
}

bool StartCalls(BlockPoolHeader* pool, CallClock clock) {
  pthread_mutex_lock(&g_control);
  const bool is_off = __atomic_load_n(&g_call_state, __ATOMIC_RELAXED) == 0;  // it is ours to change
  bool is_started = is_off && pool->block_count != 0 && Prepare();
  if (is_started) {
    __atomic_store_n(&g_pool, pool, __ATOMIC_RELEASE);  // pairs with the claim's load
    g_session_count = g_session_count % kMaxSessions + 1;
    const bool is_coarse = clock == CallClock::kCoarse;
    const uint64_t state = uint64_t{g_session_count << 1 | (is_coarse ? 1U : 0U)} << 32;
    if (is_coarse)
      is_started = g_coarse_clock.Start(&g_call_state, state);
    else
      __atomic_store_n(&g_call_state, state, __ATOMIC_RELAXED);  // threads may be late by an event
  }
  pthread_mutex_unlock(&g_control);
  return is_started;
}

void StopCalls() {
  pthread_mutex_lock(&g_control);
  __atomic_store_n(&g_call_state, 0, __ATOMIC_RELAXED);  // threads may be late by an event
  g_coarse_clock.Stop();
  pthread_mutex_unlock(&g_control);
}

const uint64_t* CallSwitch() { return &g_call_state; }

CallStats CallRecorderStats() {
  auto read = [](uint64_t* counter) { return __atomic_load_n(counter, __ATOMIC_RELAXED); };  // statistics
  return {.events_in_handlers = read(&g_events_in_handlers),
          .events_without_block = read(&g_events_without_block),
          .blocks_abandoned = read(&g_blocks_abandoned)};
}

LAGWATCH_UNTRACED void RecordNameBegin(const char* name) {
  RecordCall(reinterpret_cast<uint64_t>(name), CallEventWord::kIsEnter | CallEventWord::kIsName);
}
LAGWATCH_UNTRACED void RecordNameEnd(const char* name) {
  RecordCall(reinterpret_cast<uint64_t>(name), CallEventWord::kIsName);
}

}  // namespace lagwatch::trace
