// SPDX-License-Identifier: Apache-2.0
#include "probe/run/actions.h"

#include <algorithm>
#include <bit>

#include "probe/run/float_call.h"

namespace lagwatch::probe {
namespace {

// Counts and sums are read later, after the threads' hits: their order does not matter.
constexpr auto kRelaxed = std::memory_order_relaxed;

void Count(Word& word) { word.fetch_add(1, kRelaxed); }

// One of the block's rooms, for as long as this object lives.
class ScopedScratch {
 public:
  explicit ScopedScratch(const Frame& frame) {
    for (uint32_t i = 0; i < 4 && scratch_ == nullptr; ++i) {
      Scratch& candidate = frame.block.scratches[(frame.hit.tid + i) % kScratches];
      uint64_t is_taken = 0;
      // Acquire and release order the room's plain words between the hits that have it one after the other.
      if (candidate.is_taken.compare_exchange_strong(is_taken, 1, std::memory_order_acquire, kRelaxed)) {
        scratch_ = &candidate;
      }
    }
  }
  ~ScopedScratch() {
    if (scratch_ != nullptr) scratch_->is_taken.store(0, std::memory_order_release);
  }
  ScopedScratch(const ScopedScratch&) = delete;
  ScopedScratch& operator=(const ScopedScratch&) = delete;

  uint64_t* words() const { return scratch_ == nullptr ? nullptr : scratch_->words; }

 private:
  Scratch* scratch_ = nullptr;
};

// Copies the C string at `address`, at most `width` bytes; returns its length with kCutText, or
// kUnreadableText.
uint16_t ReadString(const Frame& frame, uint64_t address, void* to, uint16_t width) {
  if (address == 0 || frame.hit.services->read == nullptr) return kUnreadableText;
  const size_t read = std::min<size_t>(frame.hit.services->read(frame.hit, address, to, width), width);
  if (read == 0) return kUnreadableText;
  const char* const bytes = static_cast<const char*>(to);
  uint16_t length = 0;
  while (length < read && bytes[length] != 0) ++length;
  return length == read ? length | kCutText : length;
}

// Writes a key's or a record's part into its words, whose rest is zeroed.
void StorePart(const Frame& frame, uint64_t value, Shown shown, uint16_t width, uint64_t* words) {
  const size_t count = WordsOf(shown, width);
  if (shown != Shown::kText) {
    words[0] = value;
    return;
  }
  for (size_t i = 0; i < count; ++i) words[i] = 0;
  char* const bytes = reinterpret_cast<char*>(words);
  const uint16_t length = ReadString(frame, value, bytes + 2, width);
  const size_t kept = length == kUnreadableText ? 0 : length & ~kCutText;
  for (size_t i = kept; i < width; ++i) bytes[2 + i] = 0;  // behind the end of the string
  __builtin_memcpy(bytes, &length, sizeof length);
}

uint64_t HashOf(const uint64_t* words, size_t count) {
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) hash = Mixed(hash ^ words[i]) + hash;
  return hash | uint64_t{1} << 63;  // neither kEmptyCell nor kClaimedCell
}

// Returns the words behind the hash of the slot that holds `key`, in a table of `mask` + 1 slots: found, or
// new. Null if kMaxProbing slots are taken. A slot that is being written counts as another one's: at worst a
// key gets two, and the reader adds them up. So no hit waits for another one, which may be the one that it
// interrupted.
Word* FindOrAdd(Word* slots, uint32_t mask, size_t slot_words, uint64_t hash, const uint64_t* key,
                size_t key_words) {
  for (uint32_t i = 0; i < kMaxProbing && i <= mask; ++i) {
    Word* const slot = slots + ((hash + i) & mask) * slot_words;
    uint64_t found = slot->load(std::memory_order_acquire);  // with it comes the key
    if (found == kEmptyCell && slot->compare_exchange_strong(found, kClaimedCell, kRelaxed)) {
      for (size_t word = 0; word < key_words; ++word) slot[1 + word].store(key[word], kRelaxed);
      slot->store(hash, std::memory_order_release);
      return slot + 1;
    }
    if (found != hash) continue;
    size_t equal = 0;
    while (equal < key_words && slot[1 + equal].load(kRelaxed) == key[equal]) ++equal;
    if (equal == key_words) return slot + 1;
  }
  return nullptr;
}

// The order of numbers as the order of unsigned ones above 0, which stands for no number.
uint64_t Ordered(uint64_t bits, bool is_float) {
  const uint64_t sign = uint64_t{1} << 63;
  return is_float && (bits & sign) != 0 ? ~bits : bits ^ sign;
}

bool RaiseTo(Word& word, uint64_t number) {
  uint64_t present = word.load(kRelaxed);
  for (int i = 0; i < kMostAttempts; ++i) {
    if (present >= number || word.compare_exchange_weak(present, number, kRelaxed)) return true;
  }
  return false;
}

bool AddNumber(Word& word, uint64_t value, uint64_t weight, bool is_float) {
  if (is_float) return AddFloatTo(word, value, weight);
  int64_t added = 0;
  int64_t sum = 0;
  if (__builtin_mul_overflow(static_cast<int64_t>(value), static_cast<int64_t>(weight), &added)) return false;
  const uint64_t before = word.fetch_add(static_cast<uint64_t>(added), kRelaxed);
  if (!__builtin_add_overflow(static_cast<int64_t>(before), added, &sum)) return true;
  word.fetch_sub(static_cast<uint64_t>(added), kRelaxed);  // left out, in place of a sum with another sign
  return false;
}

size_t BucketOf(const AggregateTable& table, int64_t value) {
  if (table.kind == AggregateKind::kHistogram) {
    return value < 0 ? 0 : static_cast<size_t>(1 + std::bit_width(static_cast<uint64_t>(value)));
  }
  if (value < table.lowest) return 0;
  const uint64_t above = static_cast<uint64_t>(value) - static_cast<uint64_t>(table.lowest);
  return 1 + std::min<uint64_t>(above / static_cast<uint64_t>(table.step), table.buckets);
}

bool Update(const AggregateTable& table, Word* values, uint64_t value, uint64_t weight) {
  switch (table.kind) {
    case AggregateKind::kCount:
      values[0].fetch_add(weight, kRelaxed);
      return true;
    case AggregateKind::kSum:
      return AddNumber(values[0], value, weight, table.is_float);
    case AggregateKind::kMin:
      return RaiseTo(values[0], ~Ordered(value, table.is_float));
    case AggregateKind::kMax:
      return RaiseTo(values[0], Ordered(value, table.is_float));
    case AggregateKind::kAverage:
      if (!AddNumber(values[0], value, weight, table.is_float)) return false;
      values[1].fetch_add(weight, kRelaxed);
      return true;
    case AggregateKind::kHistogram:
    case AggregateKind::kLinearHistogram:
      values[BucketOf(table, static_cast<int64_t>(value))].fetch_add(weight, kRelaxed);
      return true;
  }
  return false;
}

// The values of the cell of the key in the registers from `key` on; null if there is none.
Word* CellOf(Frame& frame, const AggregateTable& table, uint8_t key) {
  Word* const cells =
      table.cells + (frame.hit.tid & table.shard_mask) * (table.mask + size_t{1}) * table.cell_words;
  if (table.keys == 0) return cells + 1;
  const uint64_t* words = &frame.registers[key];
  const auto find = [&] {
    Word* const found = FindOrAdd(cells, table.mask, table.cell_words, HashOf(words, table.key_words), words,
                                  table.key_words);
    return found == nullptr ? nullptr : found + table.key_words;
  };
  if (!table.has_texts) return find();
  const ScopedScratch scratch(frame);
  if (scratch.words() == nullptr) return nullptr;
  uint64_t* to = scratch.words();
  for (size_t i = 0; i < table.keys; ++i) {
    StorePart(frame, frame.registers[key + i], table.key_shown[i], table.key_widths[i], to);
    to += WordsOf(table.key_shown[i], table.key_widths[i]);
  }
  words = scratch.words();
  return find();
}

bool Matches(const char* text, size_t length, const char* pattern) {
  size_t at = 0;
  size_t in_pattern = 0;
  size_t star = SIZE_MAX;  // the last `*`, and the text that it stands for so far
  size_t star_at = 0;
  while (at < length) {
    if (pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (pattern[in_pattern] == '?' || (pattern[in_pattern] != 0 && pattern[in_pattern] == text[at])) {
      ++in_pattern;
      ++at;
    } else if (star != SIZE_MAX) {
      in_pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (pattern[in_pattern] == '*') ++in_pattern;
  return pattern[in_pattern] == 0;
}

}  // namespace

uint64_t ValueOf(Frame& frame, HitValue value) {
  const Hit& hit = frame.hit;
  static constexpr HitDetails kNoDetails;
  const HitDetails& details = hit.details == nullptr ? kNoDetails : *hit.details;
  const auto address_of = [](const char* text) { return reinterpret_cast<uintptr_t>(text); };
  switch (value) {
    case HitValue::kTime:
      return static_cast<uint64_t>(frame.NowNs());
    case HitValue::kThread:
      return hit.tid;
    case HitValue::kCpuTime:
      return hit.services->cpu_time_ns == nullptr ? 0 : hit.services->cpu_time_ns(hit);
    case HitValue::kCaller:
      return hit.caller;
    case HitValue::kFunction:
      return hit.function;
    case HitValue::kDuration:
      return frame.ToNs(hit.duration_ticks);
    case HitValue::kThrownType:
      return address_of(details.thrown_type);
    case HitValue::kThrownObject:
      return details.thrown_object;
    case HitValue::kBytes:
      return details.bytes;
    case HitValue::kAddress:
      return details.address;
    case HitValue::kWaited:
      return details.waited_ns;
    case HitValue::kHeld:
      return details.held_ns;
    case HitValue::kDescriptor:
      return static_cast<uint64_t>(details.descriptor);
    case HitValue::kOperation:
      return address_of(details.operation);
    case HitValue::kLoop:
      return address_of(details.loop);
    case HitValue::kLine:
      return static_cast<uint64_t>(details.line);
    case HitValue::kCallee:
    case HitValue::kObjectType:
    case HitValue::kField:
      return address_of(details.target);
    case HitValue::kFieldValue:
      return static_cast<uint64_t>(details.field_value);
    case HitValue::kTag:
      return address_of(details.tag);
    case HitValue::kNumber:
      return static_cast<uint64_t>(details.number);
    case HitValue::kStatus:
      return static_cast<uint64_t>(details.status);
  }
  return 0;
}

bool ReadWord(const Frame& frame, uint64_t address, size_t size, uint64_t* word) {
  *word = 0;
  return frame.hit.services->read != nullptr &&
         frame.hit.services->read(frame.hit, address, word, size) == size;
}

bool EqualsText(Frame& frame, uint64_t address, const char* text) {
  constexpr size_t kPiece = 16;
  if (address == 0 || frame.hit.services->read == nullptr) return false;
  for (size_t at = 0; at <= kMaxTextBytes; at += kPiece) {
    size_t wanted = 0;  // with the zero behind it
    while (wanted < kPiece && text[at + wanted] != 0) ++wanted;
    const bool is_last = wanted < kPiece;
    wanted += is_last;
    char piece[kPiece];
    if (frame.hit.services->read(frame.hit, address + at, piece, wanted) != wanted) return false;
    for (size_t i = 0; i < wanted; ++i) {
      if (piece[i] != text[at + i]) return false;
    }
    if (is_last) return true;
  }
  return false;
}

bool MatchesText(Frame& frame, uint64_t address, const char* pattern) {
  const ScopedScratch scratch(frame);
  if (scratch.words() == nullptr) return false;
  const char* const text = reinterpret_cast<const char*>(scratch.words());
  const uint16_t length = ReadString(frame, address, scratch.words(), kMaxTextBytes);
  return length != kUnreadableText && Matches(text, length & ~kCutText, pattern);
}

// A window is 2^30 ns; the word holds its number and how many passed in it.
bool IsWithinRate(Frame& frame, Word& window, uint32_t per_second) {
  const uint64_t number = static_cast<uint64_t>(frame.NowNs()) >> 30 << 32;
  const uint64_t most = per_second + per_second / 14;  // 2^30 ns are 1.07 s
  uint64_t present = window.load(kRelaxed);
  for (int i = 0; i < kMostAttempts; ++i) {
    const bool is_new = present >> 32 << 32 != number;
    if (!is_new && (present & UINT32_MAX) >= most) return false;
    if (window.compare_exchange_weak(present, is_new ? number | 1 : present + 1, kRelaxed)) return true;
  }
  return false;
}

// One hit in 2^shift passes. The shift rises as soon as twice the rate has passed in a window of 2^27 ns, and
// falls after each window in which fewer than the rate did, and windows without any.
bool PassesAdaptiveSample(Frame& frame, Counter& counter, uint32_t per_second) {
  const uint64_t shift = counter.shift.load(kRelaxed) & 31;
  if ((counter.count.fetch_add(1, kRelaxed) & ((uint64_t{1} << shift) - 1)) != 0) return false;
  const uint64_t target = std::max<uint64_t>(1, per_second / 7);
  const uint64_t number = static_cast<uint64_t>(frame.NowNs()) >> 27;
  const uint64_t present = counter.window.load(kRelaxed);
  const uint64_t windows = (number - (present >> 32)) & UINT32_MAX;
  const uint64_t passed = (windows == 0 ? present & UINT32_MAX : 0) + 1;
  uint64_t new_shift = shift;
  if (windows > 1 || (windows == 1 && (present & UINT32_MAX) < target)) new_shift -= std::min(shift, windows);
  const bool is_twice = passed >= 2 * target;
  if (is_twice) new_shift = std::min<uint64_t>(new_shift + 1, 30);
  // Racing hits overwrite each other: the rate is a target, not a promise.
  counter.window.store(number << 32 | (is_twice ? target : passed), kRelaxed);
  if (new_shift != shift) counter.shift.store(new_shift, kRelaxed);
  frame.weight <<= shift;
  return true;
}

uint64_t CaptureStack(Frame& frame, uint32_t most) {
  BlockHeader& header = *frame.block.header;
  const StackSlots& stacks = frame.block.stacks;
  const HitServices& services = *frame.hit.services;
  const ScopedScratch scratch(frame);
  if (scratch.words() == nullptr || services.capture_stack == nullptr) {
    Count(header.dropped_stacks);
    return 0;
  }
  uint64_t* const addresses = scratch.words();
  const size_t depth = std::min<size_t>(services.capture_stack(frame.hit, addresses, most), most);
  if (depth == 0) return 0;
  if (depth < kMaxStackFrames) addresses[depth] = 0;  // ends it, also in the slot
  const size_t words = std::min(depth + 1, kMaxStackFrames);
  Word* const found =
      FindOrAdd(stacks.slots, stacks.mask, kStackWords, HashOf(addresses, words), addresses, words);
  if (found == nullptr) {
    Count(header.dropped_stacks);
    return 0;
  }
  return static_cast<uint64_t>(found - 1 - stacks.slots) / kStackWords + 1;
}

void AddTo(Frame& frame, const AggregateTable& table, uint8_t key, uint8_t value) {
  Word* const values = CellOf(frame, table, key);
  const uint64_t number = table.kind == AggregateKind::kCount ? 0 : frame.registers[value];
  if (values == nullptr || !Update(table, values, number, frame.weight)) Count(*table.dropped);
}

void PrintRecord(Frame& frame, uint32_t print, uint8_t first) {
  BlockHeader& header = *frame.block.header;
  const RecordSlots& records = frame.block.records;
  if (!IsWithinRate(frame, header.output_window, frame.block.output_per_second))
    return Count(header.dropped_records);
  uint64_t place = header.next_record.load(kRelaxed);
  for (int i = 0; i < kMostAttempts; ++i) {
    Word* const slot = records.slots + (place & records.mask) * records.slot_words;
    const uint64_t sequence =
        slot->load(std::memory_order_acquire);  // after the reader has taken what was in it
    if (sequence != place) {
      if (sequence < place) break;  // full
      place = header.next_record.load(kRelaxed);
      continue;
    }
    if (!header.next_record.compare_exchange_weak(place, place + 1, kRelaxed)) continue;
    uint64_t* words = reinterpret_cast<uint64_t*>(slot + 1);
    words[0] = static_cast<uint64_t>(frame.NowNs());
    words[1] = uint64_t{print} << 32 | frame.hit.tid;
    words += kRecordHeaderWords - 1;
    const RecordForm& form = frame.block.prints[print];
    for (size_t field = 0; field < form.fields; ++field) {
      StorePart(frame, frame.registers[first + field], form.shown[field], form.widths[field], words);
      words += WordsOf(form.shown[field], form.widths[field]);
    }
    slot->store(place + 1, std::memory_order_release);
    return;
  }
  Count(header.dropped_records);
}

}  // namespace lagwatch::probe
