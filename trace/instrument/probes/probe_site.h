// SPDX-License-Identifier: Apache-2.0
// A function with probes, and the code that its first bytes lead to. Sites are never freed: a thread may be
// in one at any time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stack/signal/thread_block.h"
#include "trace/instrument/probes/instruction.h"
#include "trace/instrument/probes/probe_events.h"
#include "trace/instrument/probes/probe_reason.h"

namespace lagwatch::trace {

// The needs of a site's probes, together.
enum ProbeNeeds : uint32_t {
  kNeedsReturn = 1,
  kNeedsVectors = 2,   // their values
  kNeedsArgs = 4,      // at the return
  kNeedsBaseline = 8,  // HandlerRegisters, for the probe that needs most
  kNeedsAny = 16,
  kNeedsRoom = 32,
};

// Handlers with their data; used again once no thread can have this one's address.
struct ArmedProbe {
  const ProbeHandlers* handlers;
  void* user_data;
};

// Thread safety: the prober changes it, one thread at a time; hits read it at any time.
struct ProbeSite {
  uint64_t function = 0;
  uint64_t pushed_bytes = 0;  // between the return address and the stack pointer; the unwind table reads it
  uint32_t needs = 0;
  uint32_t slot_count = 0;                           // only grows
  const ArmedProbe* slots[kMaxProbesPerFunction]{};  // null: free
};

// The code that calls the handlers, then runs the instruction that the jump took the place of, and continues
// behind it.
struct SiteCode {
  static constexpr size_t kBytes = 64;
  // The address of the code, among its bytes; literals are before it.
  static constexpr size_t kEntryAt = 16;
  // From the return address of its call back to the pointer to its site.
  static constexpr uint64_t kSiteBefore = 14;
  static constexpr uint64_t kNoteSiteBefore = 19;

  unsigned char bytes[kBytes];
};
static_assert(SiteCode::kEntryAt + 6 + kMaxMovedBytes <= SiteCode::kBytes);
static_assert(SiteCode::kEntryAt + 6 + 6 + 8 <= SiteCode::kBytes);
// Below the stack pointer, where a function that calls none may keep values.
inline constexpr uint64_t kRedZoneBytes = 128;

// Makes the code that will be at `code`, with the instruction that is at `address` now. False if that cannot
// be moved there.
bool MakeSiteCode(const ProbeSite* site, const Instruction& instruction, uint64_t address, uint64_t code,
                  SiteCode* made);

// The same for an instruction amid a function, which keeps all registers and flags.
bool MakeNoteCode(const ProbeSite* site, const Instruction& instruction, uint64_t address, uint64_t code,
                  SiteCode* made);

// As MoveInstruction() or MoveCall(), for an instruction amid a function.
size_t MoveNoteInstruction(const Instruction& instruction, uint64_t address, uint64_t moved_address,
                           unsigned char moved[kMaxMovedBytes]);

// The code that calls the handlers, then jumps to the site's function: for the slots of import tables.
void MakeCallCode(const ProbeSite* site, SiteCode* made);

// The code that a caller may be in: that of modules with unwind tables. Code made at run time (by the JVM,
// V8) has unwinders of its own, which replaced return addresses would mislead. Ascending; never freed.
struct CallerRanges {
  struct Range {
    uint64_t begin;
    uint64_t end;
  };
  size_t count;
  const Range* ranges;
};
void UseCallerRanges(const CallerRanges* ranges);

// The unwinder of the C++ library, whose contexts can be read: for calls that exceptions leave.
struct UnwinderCalls {
  uint64_t begin;  // of its module's code
  uint64_t end;
  uint64_t (*get_ip)(void* context);
};
void UseUnwinder(const UnwinderCalls* unwinder);

// The stacks that the C library and the kernel gave to threads.
struct OwnStacks {
  stack::ThreadBlockLayout thread_block;
  uint64_t main_begin;  // of the main thread's
  uint64_t main_end;
};
// Never freed. Until then all stacks are taken to have room.
void UseOwnStacks(const OwnStacks* stacks);

// Whether this is a child of fork(2) of the process that was prepared: nothing is delivered there, until
// DeliverHitsInChild(). Context: any; background.
bool IsInChildOfProbed();
void DeliverHitsInChild();

// Prepares what hits need; false where the system forbids that. Idempotent. Context: background.
bool PrepareProbeHits();

}  // namespace lagwatch::trace
