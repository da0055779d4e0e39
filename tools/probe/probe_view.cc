// SPDX-License-Identifier: Apache-2.0
#include "tools/probe/probe_view.h"

#include <cstring>

#include "probe/block.h"

namespace lagwatch::tools {

ProbeView::ProbeView(probe::Program program, const sdk::ProbeTicks& ticks, ProcessFunctions* functions)
    : program_(std::move(program)), ticks_(ticks), functions_(functions) {}

void ProbeView::Add(const sdk::ReadAnswer& answer) {
  records_ += answer.records;
  if (!answer.snapshot.empty()) snapshot_ = answer.snapshot;
}

std::string ProbeView::Field(probe::Shown shown, const uint64_t* words) const {
  return shown == probe::Shown::kText ? std::string(reinterpret_cast<const char*>(words) + 2) : std::to_string(words[0]);
}

std::string ProbeView::TakeLines(bool) {
  std::string lines;
  size_t words = 0;
  for (const auto& print : program_.prints) {
    size_t n = 0;
    for (const auto& field : print.fields) n += probe::WordsOf(field.shown, field.width);
    words = std::max(words, n);
  }
  words += probe::kRecordHeaderWords - 1;
  const size_t size = words * 8;
  for (size_t at = 0; size != 0 && at + size <= records_.size(); at += size) {
    std::vector<uint64_t> w(words);
    std::memcpy(w.data(), records_.data() + at, size);
    const size_t index = w[1] >> 32;
    lines += std::to_string(w[1] & 0xffffffff) + "/" + std::to_string(index) + ":";
    for (size_t i = 2; i < words; ++i) lines += " " + std::to_string(w[i]);
    lines += "\n";
  }
  records_.clear();
  return lines;
}
std::string ProbeView::Tables(size_t) const { return "snapshot bytes " + std::to_string(snapshot_.size()) + "\n"; }
std::string ProbeView::JsonTables() const { return ""; }
std::string ProbeView::Statsd() const { return ""; }
std::string ProbeView::Prometheus() const { return ""; }

}  // namespace lagwatch::tools
