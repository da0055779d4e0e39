// SPDX-License-Identifier: Apache-2.0
// Whatever a copy of a stack holds: unwinding it ends, yields no more frames than fit, and reads nothing of
// the buffer that is not filled.
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/process/safe_memory.h"
#include "stack/unwind/code_reader.h"
#include "stack/unwind/table_unwinder.h"
#include "tests/fuzz/seeds.h"

namespace {

using namespace lagwatch::stack;

constexpr size_t kMaxCopyBytes = 64 << 10;
constexpr size_t kHeadBytes = 8 + 8 * Registers::kCount;

void Check(bool holds) {
  if (!holds) abort();
}

// Addresses are another each time the program is started, so inputs hold these words in their place: what the
// word is by its upper byte, a number by the others.
enum class WordKind : uint8_t { kPlain, kCode, kCallSite, kStack, kOtherStack, kMadeCode, kCount };
constexpr unsigned kKindShift = 56;
constexpr unsigned kModuleShift = 48;
constexpr uint64_t kNumberMask = (uint64_t{1} << kModuleShift) - 1;

class Fuzzer {
 public:
  Fuzzer() {
    // Calls, a prologue and a return, of no module.
    static constexpr unsigned char kCode[] = {0xe8, 0, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd0, 0xc3};
    void* code = mmap(nullptr, kMadeCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Check(code != MAP_FAILED);
    made_code_ = reinterpret_cast<uint64_t>(code);
    for (size_t i = 0; i < kMadeCodeBytes; ++i)
      static_cast<unsigned char*>(code)[i] = kCode[i % sizeof kCode];
    Check(mprotect(code, kMadeCodeBytes, PROT_READ | PROT_EXEC) == 0);
    modules_.Refresh();
    Check(compiled_.Start().ok());
    for (uint32_t i = 0; i < modules_.module_count(); ++i) {
      compiled_.Request(i, modules_.module(i));
      FindCallSites(modules_.module(i));
    }
    compiled_.AwaitForTest();
    void* memory =
        mmap(nullptr, 2 * kMaxCopyBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Check(memory != MAP_FAILED);
    memory_ = static_cast<char*>(memory);
  }

  void Run(const uint8_t* data, size_t size_bytes) {
    const size_t copy_bytes = std::min(size_bytes - kHeadBytes, kMaxCopyBytes);
    raw_->address = stack();
    raw_->size_bytes = copy_bytes;
    raw_->end = stack() + copy_bytes + ((data[0] & 1) != 0 ? 4096 : 0);
    raw_->registers.known_mask = Registers::kAllKnown;
    uint32_t unknown;
    std::memcpy(&unknown, data + 4, sizeof unknown);
    raw_->registers.known_mask &= ~uint64_t{unknown};
    for (size_t i = 0; i < Registers::kCount; ++i) {
      uint64_t word;
      std::memcpy(&word, data + 8 + 8 * i, sizeof word);
      raw_->registers.value[i] = Decode(word);
    }
    std::memcpy(raw_->bytes, data + kHeadBytes, copy_bytes);
    for (size_t i = 0; i + 8 <= copy_bytes; i += 8) {
      uint64_t word;
      std::memcpy(&word, raw_->bytes + i, sizeof word);
      word = Decode(word);
      std::memcpy(raw_->bytes + i, &word, sizeof word);
    }
    // The other stack holds the same, so that walks lead there and back.
    std::memcpy(memory_, raw_->bytes, copy_bytes);
    std::memset(memory_ + copy_bytes, 0, 2 * kMaxCopyBytes - copy_bytes);
    ASAN_POISON_MEMORY_REGION(raw_->bytes + copy_bytes, kMaxRawStackBytes - copy_bytes);
    Unwind((data[0] & 2) != 0 ? by_search_.get() : by_tables_.get());
    ASAN_UNPOISON_MEMORY_REGION(raw_->bytes + copy_bytes, kMaxRawStackBytes - copy_bytes);
  }

  // A deep recursion as an input: one return address all over the stack.
  static std::string DeepStack(uint64_t call_site) {
    constexpr size_t kWords = 1000;
    auto word = [](WordKind kind, uint64_t number) {
      uint64_t encoded = uint64_t{static_cast<uint8_t>(kind)} << kKindShift | number;
      return std::string(reinterpret_cast<const char*>(&encoded), sizeof encoded);
    };
    std::string seed(8, '\0');
    for (int i = 0; i < Registers::kCount; ++i) {
      bool is_code = i == Registers::kProgramCounter;
      seed += word(is_code ? WordKind::kCallSite : WordKind::kStack, is_code ? call_site : 0);
    }
    for (size_t i = 0; i < kWords; ++i) seed += word(WordKind::kCallSite, call_site);
    return seed;
  }
  // A caught thread as an input.
  std::string Encode(const Registers& registers) const {
    constexpr size_t kSeedBytes = 4096;
    std::string seed(8, '\0');
    const uint64_t begin = registers.stack_pointer() - kRedZoneBytes;
    auto add = [&](uint64_t word) {
      uint64_t encoded = word;
      if (word - begin < kSeedBytes) {
        encoded = uint64_t{static_cast<uint8_t>(WordKind::kStack)} << kKindShift | (word - begin);
      } else if (uint32_t module = modules_.FindCode(word); module != kNoModule) {
        encoded = uint64_t{static_cast<uint8_t>(WordKind::kCode)} << kKindShift |
                  uint64_t{module} << kModuleShift | (word - modules_.module(module).base);
      }
      seed.append(reinterpret_cast<const char*>(&encoded), sizeof encoded);
    };
    for (uint64_t value : registers.value) add(value);
    for (size_t i = 0; i < kSeedBytes; i += 8) {
      uint64_t word = 0;
      lagwatch::base::ReadOwnValue(begin + i, &word);
      add(word);
    }
    return seed;
  }

 private:
  static constexpr size_t kMaxCallSitesPerModule = 2048;
  static constexpr size_t kMadeCodeBytes = 4096;

  uint64_t other_stack() const { return reinterpret_cast<uint64_t>(memory_); }
  // Not mapped: what is not in the copy is not there.
  static uint64_t stack() { return 0x10'0000'0000; }

  void FindCallSites(const Module& module) {
    PageCache pages;
    CodeReader code(&pages, &modules_);
    const size_t end = call_sites_.size() + kMaxCallSitesPerModule;
    for (uint64_t at = module.base; at < module.end && call_sites_.size() < end; at += 7) {
      if (modules_.IsCode(at) && code.IsReturnAddress(at)) call_sites_.push_back(at);
    }
  }

  uint64_t Decode(uint64_t word) const {
    const uint64_t number = word & kNumberMask;
    switch (static_cast<WordKind>((word >> kKindShift) % static_cast<uint8_t>(WordKind::kCount))) {
      case WordKind::kCode: {
        const Module& module = modules_.module((word >> kModuleShift & 0xff) % modules_.module_count());
        return module.base + number % (module.end - module.base);
      }
      case WordKind::kCallSite:
        return call_sites_.empty() ? 0 : call_sites_[number % call_sites_.size()];
      case WordKind::kStack:
        return stack() + number % (2 * kMaxCopyBytes);
      case WordKind::kMadeCode:
        return made_code_ + number % kMadeCodeBytes;
      case WordKind::kOtherStack:
        return other_stack() + number % (2 * kMaxCopyBytes);
      default:
        return word;
    }
  }

  void Unwind(Unwinder* unwinder) {
    unwinder->Unwind(*raw_, modules_, stack_.get());
    Check(stack_->frame_count >= 1 && stack_->frame_count <= kMaxFrames);
    Check(stack_->completeness != Completeness::kNone && stack_->gap_at < stack_->frame_count);
    Check((stack_->gap_at == 0) == (stack_->gap_frame_count == 0));
    for (const Frame& frame : stack_->view()) {
      Check(frame.module == kNoModule || frame.module < modules_.module_count());
      if (frame.module == kNoModule) continue;
      const Module& module = modules_.module(frame.module);
      Check(frame.offset + module.load_bias >= module.base && frame.offset + module.load_bias < module.end);
      Check(frame.function_offset <= frame.offset);
    }
  }

  ModuleMap modules_;
  TableLibrary compiled_;
  TableLibrary empty_;  // never started
  std::unique_ptr<Unwinder> by_tables_ = CreateTableUnwinder(&compiled_);
  std::unique_ptr<Unwinder> by_search_ = CreateTableUnwinder(&empty_);
  std::vector<uint64_t> call_sites_;
  char* memory_;
  uint64_t made_code_;
  std::unique_ptr<RawStack> raw_ = std::make_unique<RawStack>();
  std::unique_ptr<Stack> stack_ = std::make_unique<Stack>();
};

Fuzzer& TheFuzzer() {
  static auto& fuzzer = *new Fuzzer;
  return fuzzer;
}

Registers RegistersOf(const ucontext_t& context) {
  static constexpr int kKernelOrder[Registers::kCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP,
  };
  Registers registers{};
  for (int i = 0; i < Registers::kCount; ++i) {
    registers.value[i] = static_cast<uint64_t>(context.uc_mcontext.gregs[kKernelOrder[i]]);
  }
  return registers;
}

lagwatch::testing::FuzzSeeds g_seeds;

// Seeds: the thread that the signal interrupted, and the handler above its frame.
void OnSignal(int, siginfo_t*, void* context) {
  g_seeds.Add(TheFuzzer().Encode(RegistersOf(*static_cast<ucontext_t*>(context))));
  ucontext_t here;
  getcontext(&here);
  g_seeds.Add(TheFuzzer().Encode(RegistersOf(here)));
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  struct sigaction action {};
  action.sa_sigaction = &OnSignal;
  action.sa_flags = SA_SIGINFO;
  struct sigaction previous;
  TheFuzzer();
  sigaction(SIGUSR2, &action, &previous);
  raise(SIGUSR2);
  sigaction(SIGUSR2, &previous, nullptr);
  for (uint64_t i = 0; i < 32; ++i) g_seeds.Add(Fuzzer::DeepStack(101 * i));
  g_seeds.AppendTo(argc, argv);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes) {
  if (size_bytes >= kHeadBytes) TheFuzzer().Run(data, size_bytes);
  return 0;
}
