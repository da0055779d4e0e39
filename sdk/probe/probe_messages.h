// SPDX-License-Identifier: Apache-2.0
// The messages between `lagwatch probe` and the process that it probes: a header and a body each, over a
// stream socket. The console asks, the process answers each question in its order. Both sides check all that
// they receive. Context: background.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lagwatch::sdk {

inline constexpr uint32_t kProbeMagic = 0x4250574c;  // "LWPB"
inline constexpr size_t kMaxProbeQuestionBytes = 4 << 20;
inline constexpr size_t kMaxProbeAnswerBytes = 96 << 20;
inline constexpr size_t kMaxProbeSites = 4'096;  // of one program

// The numbers of kDisarm and kList, and the layout of their bodies, stay what they are: these two are
// answered to consoles of every version, so that an older library's probes can be taken away.
enum class ProbeMessageKind : uint16_t {
  // Questions.
  kArm,      // ArmQuestion: kArmed
  kDisarm,   // ProgramQuestion: kDone
  kList,     // nothing: kListed
  kFollow,   // ProgramQuestion: kFollowed. The console counts as one of the program's from then on.
  kRead,     // ReadQuestion: kData
  kEvent,    // EventQuestion: kDone, with the number of probes that were hit
  kLevel,    // LevelQuestion: kDone
  kExamine,  // ExamineQuestion: kExamined
  // Answers.
  kRefused,  // TextAnswer: the reason
  kArmed,
  kDone,
  kListed,
  kFollowed,
  kData,
  kExamined,
};
inline constexpr auto kLastProbeMessageKind = static_cast<uint16_t>(ProbeMessageKind::kExamined);

struct ProbeMessageHeader {
  uint32_t magic = kProbeMagic;
  uint16_t version = 0;  // ProbeVersion() of the sender
  uint16_t kind = 0;
  uint32_t body_bytes = 0;
};

// The meaning of a site's arguments: sdk/probe/site_roles.def has the functions of each.
enum class SiteRole : uint8_t {
  kFunction,  // those of the script
  kThrow,
  kAllocate,  // (size)
  kAllocateArray,
  kReallocate,
  kAllocateAligned,  // (alignment, size)
  kAllocateInto,     // posix_memalign()
  kLock,
  kTryLock,
  kUnlock,
  kWaitUnlocked,  // pthread_cond_wait() and similar ones
  kTransfer,      // (fd, …): returns the bytes
  kExit,
  kJavaMethod,  // those that the place in the program means, which the JVM's agent finds
  kNote,        // no function, but a note of <sys/sdt.h>: the symbol is PROVIDER:NAME
};
inline constexpr uint8_t kLastSiteRole = static_cast<uint8_t>(SiteRole::kNote);

// A function that a probe is on: by its place in a file that the process has loaded.
struct ProbeSiteAt {
  uint16_t probe = 0;  // index in the program
  SiteRole role = SiteRole::kFunction;
  std::string build_id;            // raw; empty if the file has none: then by `module`
  std::string module;              // path, as the process has it
  uint64_t offset = 0;             // in the file's own address space
  std::string name;                // for people
  std::string symbol;              // of the function, as symbol tables have it
  bool is_chosen_at_load = false;  // the offset is that of the code which chooses the function
  std::string detail;              // kTransfer: the operation's name

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(probe), fields(role), fields(build_id), fields(module), fields(offset), fields(name),
        fields(symbol), fields(is_chosen_at_load), fields(detail);
  }
};

struct ArmQuestion {
  std::string title;    // the script's text or name
  bool stays = false;   // also when no console is there any more
  bool awaits_classes = false;  // methods of Java are also those of classes that are loaded later
  std::string program;  // probe::Serialize()
  std::vector<ProbeSiteAt> sites;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(title), fields(stays), fields(awaits_classes), fields(program), fields(sites);
  }
};

// The answer for one site: armed by a tier, or refused by a reason.
struct SiteResult {
  bool is_armed = false;
  std::string text;        // the tier or the reason, a sentence's part
  uint32_t functions = 1;  // kJavaMethod: the methods that have the probe
  std::string left_out{};  // kJavaMethod: methods that have none, though they are meant, and why

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(is_armed), fields(text), fields(functions), fields(left_out);
  }
};

// A moment of the process's tick counter, for its records.
struct ProbeTicks {
  double ns_per_tick = 1;
  uint64_t base_ticks = 0;
  int64_t base_mono_ns = 0;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(ns_per_tick), fields(base_ticks), fields(base_mono_ns);
  }
};

struct ArmAnswer {
  uint32_t id = 0;
  ProbeTicks ticks;
  std::vector<SiteResult> sites;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(id), fields(ticks), fields(sites);
  }
};

struct ProgramQuestion {
  uint32_t id = 0;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(id);
  }
};

struct ListedProgram {
  uint32_t id = 0;
  std::string title;
  uint32_t sites = 0;
  uint64_t hits = 0;
  uint64_t age_s = 0;
  uint32_t consoles = 0;
  bool stays = false;
  bool is_off = false;  // by its budget

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(id), fields(title), fields(sites), fields(hits), fields(age_s), fields(consoles), fields(stays),
        fields(is_off);
  }
};

struct ListAnswer {
  std::vector<ListedProgram> programs;
  std::string caution;  // JavaProber::Caution()

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(programs), fields(caution);
  }
};

struct FollowAnswer {
  std::string title;
  bool stays = false;
  std::string program;
  ProbeTicks ticks;
  std::vector<ProbeSiteAt> sites;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(title), fields(stays), fields(program), fields(ticks), fields(sites);
  }
};

struct ReadQuestion {
  uint32_t id = 0;
  bool wants_snapshot = false;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(id), fields(wants_snapshot);
  }
};

// An address of stacks that only the process can name: a method of Java.
struct NamedFrame {
  uint64_t address = 0;
  std::string name;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(address), fields(name);
  }
};

struct ReadAnswer {
  uint32_t id = 0;
  bool is_last = false;  // the process ends, or another console disarms it; not asked for
  uint64_t hits = 0;
  uint64_t skipped = 0;
  uint64_t lost = 0;  // of these, those that no other hit counts for
  uint64_t faulted = 0;
  uint64_t dropped_records = 0;
  uint64_t dropped_keys = 0;
  uint64_t dropped_stacks = 0;
  // By the mechanism since this program was armed, of all programs: hits, and returns of calls whose entry
  // was seen.
  uint64_t missed = 0;
  uint64_t returns_missed = 0;
  bool is_off = false;
  uint64_t requests = 0;  // a bit each
  std::string records;    // probe::ProbeState::TakeRecords()
  std::string snapshot;   // probe::ProbeState::Snapshot(), if it was asked for
  std::vector<NamedFrame> frames{};  // those that are new to this console

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(id), fields(is_last), fields(hits), fields(skipped), fields(lost), fields(faulted);
    fields(dropped_records), fields(dropped_keys), fields(dropped_stacks), fields(missed),
        fields(returns_missed), fields(is_off);
    fields(requests), fields(records), fields(snapshot), fields(frames);
  }
};

struct EventQuestion {
  std::string name;
  int64_t number = 0;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(name), fields(number);
  }
};

struct LevelQuestion {
  uint32_t id = 0;
  uint32_t level = 0;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(id), fields(level);
  }
};

struct ExamineQuestion {
  bool wants_return = false;
  std::vector<ProbeSiteAt> sites;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(wants_return), fields(sites);
  }
};

// A method of Java, or a class none of whose methods can be probed.
struct ExaminedMethod {
  std::string name;
  std::string why_not;  // empty: it can be probed
  std::string caution;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(name), fields(why_not), fields(caution);
  }
};

struct ExamineAnswer {
  std::vector<SiteResult> sites;
  std::vector<ExaminedMethod> methods;  // of sites of the role kJavaMethod

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(sites), fields(methods);
  }
};

struct NumberAnswer {
  uint64_t number = 0;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(number);
  }
};

struct TextAnswer {
  std::string text;

  template <typename Fields>
  void Visit(Fields& fields) {
    fields(text);
  }
};

struct NoFields {
  template <typename Fields>
  void Visit(Fields&) {}
};

// Writes the fields of a body, in the machine's byte order: both sides run on one machine.
class MessageWriter {
 public:
  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(const T& number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void operator()(const std::string& text) {
    (*this)(static_cast<uint32_t>(text.size()));
    bytes_.append(text);
  }
  template <typename T>
  void operator()(std::vector<T>& items) {
    (*this)(static_cast<uint32_t>(items.size()));
    for (T& item : items) item.Visit(*this);
  }
  template <typename T>
  requires requires(T& item, MessageWriter& writer) { item.Visit(writer); }
  void operator()(T& item) { item.Visit(*this); }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads them; the first that is not there makes everything invalid.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>) void operator()(T& number) {
    if (const char* from = Take(sizeof number)) __builtin_memcpy(&number, from, sizeof number);
  }
  void operator()(bool& flag) {
    uint8_t byte = 0;
    (*this)(byte);
    flag = byte != 0;
  }
  void operator()(SiteRole& role) {
    uint8_t number = 0;
    (*this)(number);
    if (number > kLastSiteRole) is_valid_ = false;
    role = static_cast<SiteRole>(number);
  }
  void operator()(std::string& text) {
    uint32_t size = 0;
    (*this)(size);
    if (const char* from = Take(size)) text.assign(from, size);
  }
  template <typename T>
  void operator()(std::vector<T>& items) {
    uint32_t count = 0;
    (*this)(count);
    for (uint32_t i = 0; i < count && is_valid_; ++i) items.emplace_back().Visit(*this);
  }
  template <typename T>
  requires requires(T& item, MessageReader& reader) { item.Visit(reader); }
  void operator()(T& item) { item.Visit(*this); }
  bool is_whole() const { return is_valid_ && rest_.empty(); }

 private:
  const char* Take(size_t size) {
    if (!is_valid_ || size > rest_.size()) {
      is_valid_ = false;
      return nullptr;
    }
    const char* from = rest_.data();
    rest_.remove_prefix(size);
    return from;
  }

  std::string_view rest_;
  bool is_valid_ = true;
};

// Of the messages' layout: another one, if fields were added, taken away or changed in type.
uint16_t ProbeVersion();

// A whole message, header and body.
template <typename Body>
std::string EncodeProbeMessage(ProbeMessageKind kind, Body body) {
  MessageWriter writer;
  body.Visit(writer);
  std::string bytes = writer.Take();
  const ProbeMessageHeader header{.version = ProbeVersion(),
                                  .kind = static_cast<uint16_t>(kind),
                                  .body_bytes = static_cast<uint32_t>(bytes.size())};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + bytes;
}

inline std::string EncodeRefusal(std::string reason) {
  return EncodeProbeMessage(ProbeMessageKind::kRefused, TextAnswer{std::move(reason)});
}

// None if the bytes are no such body.
template <typename Body>
std::optional<Body> DecodeProbeBody(std::string_view bytes) {
  Body body;
  MessageReader reader(bytes);
  body.Visit(reader);
  if (!reader.is_whole()) return std::nullopt;
  return body;
}

// The folder of the sockets of processes of one user, in the root directory of these: `runtime_directory` is
// the process's XDG_RUNTIME_DIR, which may be empty.
std::string ProbeDirectory(std::string_view runtime_directory, uint32_t user);
// The socket of process `pid`, by the id that it has for itself.
std::string ProbeSocketPath(std::string_view directory, int32_t pid);

}  // namespace lagwatch::sdk
