// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/libunwind_unwinder.h"

#include <libunwind.h>

#include <cstring>

#include "base/process/safe_memory.h"
#include "stack/code/page_cache.h"

// libunwind's search of a binary search table in another address space: exported, used by debuggers, and
// in no header.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t* info,
                                                  unw_proc_info_t* procedure, int need_unwind_info,
                                                  void* argument);

namespace lagwatch::stack {
namespace {

// The header of .eh_frame_hdr (Linux Standard Base, "The .eh_frame_hdr section").
struct EhFrameHeader {
  uint8_t version;
  uint8_t frame_pointer_encoding;
  uint8_t count_encoding;
  uint8_t table_encoding;
  int32_t frame_pointer;
  uint32_t entry_count;
};
constexpr uint8_t kEncodingUdata4 = 0x03;
constexpr uint8_t kEncodingSdata4DataRelative = 0x3b;

class LibunwindUnwinder final : public Unwinder {
 public:
  explicit LibunwindUnwinder(unw_addr_space_t space) : space_(space) {}
  ~LibunwindUnwinder() override { unw_destroy_addr_space(space_); }

  void Unwind(const RawStack& raw, const ModuleMap& modules, Stack* stack) override {
    raw_ = &raw;
    modules_ = &modules;
    has_left_copy_ = false;
    stack->Clear();
    unw_cursor_t cursor;
    uint64_t pc = raw.registers.program_counter();
    bool can_step = unw_init_remote(&cursor, space_, this) == 0;
    for (;;) {
      function_start_ = 0;
      // The step looks the function up, which leaves its start behind for the frame that it steps out of.
      int step = can_step ? unw_step(&cursor) : -UNW_EUNSPEC;
      AddFrame(pc, stack);
      if (step <= 0) {
        stack->completeness = step == 0        ? Completeness::kComplete
                              : has_left_copy_ ? Completeness::kCut
                                               : Completeness::kIncomplete;
        return;
      }
      unw_word_t caller = 0;
      unw_get_reg(&cursor, UNW_REG_IP, &caller);
      if (caller == 0) {
        stack->completeness = Completeness::kComplete;
        return;
      }
      if (stack->frame_count == kMaxFrames) {
        stack->completeness = Completeness::kCut;
        return;
      }
      // Into the call: a return address may be the first byte of the next function. A signal frame's is
      // exact, but one byte less is still inside the interrupted instruction or the one before.
      pc = caller - 1;
    }
  }

  void OnModulesChanged() override { pages_.Clear(); }

  static unw_accessors_t Accessors() {
    unw_accessors_t accessors{};
    accessors.find_proc_info = [](unw_addr_space_t, unw_word_t ip, unw_proc_info_t* procedure,
                                  int need_unwind_info, void* self) {
      return static_cast<LibunwindUnwinder*>(self)->FindProcedure(ip, procedure, need_unwind_info);
    };
    accessors.put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {};
    accessors.get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; };
    accessors.access_mem = [](unw_addr_space_t, unw_word_t address, unw_word_t* word, int is_write,
                              void* self) {
      if (is_write) return -UNW_EINVAL;
      return static_cast<LibunwindUnwinder*>(self)->ReadWord(address, word) ? 0 : -UNW_EINVAL;
    };
    accessors.access_reg = [](unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int is_write,
                              void* self) {
      const Registers& registers = static_cast<LibunwindUnwinder*>(self)->raw_->registers;
      if (is_write || !registers.is_known(number)) return -UNW_EBADREG;
      *value = registers.value[number];
      return 0;
    };
    accessors.access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) {
      return -UNW_EBADREG;
    };
    accessors.resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; };
    accessors.get_proc_name = [](unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) {
      return -UNW_ENOINFO;
    };
    return accessors;
  }

 private:
  void AddFrame(uint64_t pc, Stack* stack) const {
    Frame& frame = stack->frames[stack->frame_count++];
    frame.module = modules_->FindCode(pc);
    if (frame.module == kNoModule) {
      frame.offset = pc;
      frame.function_offset = 0;
      return;
    }
    uint64_t load_bias = modules_->module(frame.module).load_bias;
    frame.offset = pc - load_bias;
    frame.function_offset = function_start_ == 0 ? 0 : function_start_ - load_bias;
  }

  bool ReadWord(uint64_t address, uint64_t* word) {
    uint64_t at = address - raw_->address;
    if (at < raw_->size_bytes && raw_->size_bytes - at >= sizeof *word) {
      std::memcpy(word, raw_->bytes + at, sizeof *word);
      return true;
    }
    if (address >= raw_->address && address < raw_->end) {
      has_left_copy_ = true;
      return false;
    }
    // A stack changes all the time, also one whose end was not known: the cache is for unwind tables.
    constexpr uint64_t kStackReachBytes = 8 << 20;
    if (at < kStackReachBytes) return base::ReadOwnValue(address, word);
    return pages_.ReadWord(base::Process::Own(), address, word);
  }

  int FindProcedure(uint64_t ip, unw_proc_info_t* procedure, int need_unwind_info) {
    uint32_t index = modules_->FindCode(ip);
    if (index == kNoModule) return -UNW_ENOINFO;
    const Module& module = modules_->module(index);
    uint64_t words[2];
    EhFrameHeader header;
    static_assert(sizeof header <= sizeof words);
    if (module.eh_frame_hdr == 0 || !pages_.ReadWord(base::Process::Own(), module.eh_frame_hdr, &words[0]) ||
        !pages_.ReadWord(base::Process::Own(), module.eh_frame_hdr + sizeof words[0], &words[1])) {
      return -UNW_ENOINFO;
    }
    std::memcpy(&header, words, sizeof header);
    if (header.version != 1 || header.count_encoding != kEncodingUdata4 ||
        header.table_encoding != kEncodingSdata4DataRelative) {
      return -UNW_ENOINFO;
    }
    unw_dyn_info_t table{};
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.start_ip = module.base;
    table.end_ip = module.end;
    table.u.rti.segbase = module.eh_frame_hdr;
    table.u.rti.table_data = module.eh_frame_hdr + sizeof header;
    constexpr uint64_t kEntryBytes = 8;
    table.u.rti.table_len = header.entry_count * kEntryBytes / sizeof(unw_word_t);
    int error = UNW_OBJ(dwarf_search_unwind_table)(space_, ip, &table, procedure, need_unwind_info, this);
    if (error == 0) function_start_ = procedure->start_ip;
    return error;
  }

  unw_addr_space_t space_;
  PageCache pages_;
  const RawStack* raw_ = nullptr;
  const ModuleMap* modules_ = nullptr;
  uint64_t function_start_ = 0;
  bool has_left_copy_ = false;  // a word of the live stack was asked for that did not fit into the copy
};

}  // namespace

std::unique_ptr<Unwinder> CreateLibunwindUnwinder() {
  static unw_accessors_t accessors = LibunwindUnwinder::Accessors();
  unw_addr_space_t space = unw_create_addr_space(&accessors, 0);
  if (space == nullptr) return nullptr;
  // Rules that libunwind caches would outlive a dlclose, and hide from us where functions start.
  unw_set_caching_policy(space, UNW_CACHE_NONE);
  return std::make_unique<LibunwindUnwinder>(space);
}

}  // namespace lagwatch::stack
