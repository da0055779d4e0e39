// SPDX-License-Identifier: Apache-2.0
#include "report/upload/counted_sweep.h"

#include "report/spool/spool_sweep.h"

namespace lagwatch::report {
namespace {

class SweepCounter final : public SweepVisitor {
 public:
  SweepCounter(UploadGate* gate, const SweepHooks& hooks) : gate_(gate), hooks_(hooks) {}

  bool OnRemoval(const std::string& name, const SegmentFacts& segment,
                 policies::RemovalReason reason) override {
    const bool is_too_old = reason == policies::RemovalReason::kTooOld;
    gate_->CountRemoved(StemOf(name), segment, is_too_old ? LossReason::kTooOld : LossReason::kTooMuch);
    hooks_.on_counted(name);
    return true;
  }
  bool KeepCounts() override { return hooks_.save(); }
  void OnRemoved(const std::string& name) override { hooks_.on_removed(name); }
  bool GoesOn() override { return hooks_.goes_on(); }

 private:
  UploadGate* gate_;
  const SweepHooks& hooks_;
};

}  // namespace

base::Status SweepCounted(base::Env* env, const std::string& directory,
                          const policies::RetentionLimits& limits, int64_t now_wall_ms, UploadGate* gate,
                          const SweepHooks& hooks) {
  SweepCounter visitor(gate, hooks);
  return SweepSpool(env, directory, {.retention = limits}, now_wall_ms, &visitor).status();
}

}  // namespace lagwatch::report
