// SPDX-License-Identifier: Apache-2.0
#include "probe/verify/verifier.h"

#include <algorithm>
#include <array>
#include <optional>

#include "probe/verify/declarations.h"
#include "probe/verify/operation_rules.h"

namespace lagwatch::probe {
namespace {

// Registers and costs on the way to one operation.
struct Way {
  std::array<RegisterType, kRegisters> types{};
  uint32_t cost_ns = 0;
  uint32_t operations = 0;
};

// The state in which an operation begins, whichever way leads there: what all ways agree on, and the worst
// cost.
void Join(const Way& way, std::optional<Way>* joined) {
  if (!joined->has_value()) {
    *joined = way;
    return;
  }
  for (size_t i = 0; i < kRegisters; ++i) {
    if ((*joined)->types[i] != way.types[i]) (*joined)->types[i] = RegisterType::kUndefined;
  }
  (*joined)->cost_ns = std::max((*joined)->cost_ns, way.cost_ns);
  (*joined)->operations = std::max((*joined)->operations, way.operations);
}

}  // namespace

class Verifier {
 public:
  static Result<VerifiedProgram> Run(Program program) {
    if (std::string reason = CheckDeclarations(program); !reason.empty()) {
      return Status(StatusCode::kInvalid, "0:0: " + reason);
    }
    auto parts = std::make_unique<VerifiedProgram::Parts>();
    parts->program = std::move(program);
    for (const std::string& text : parts->program.texts) parts->texts.push_back(text.c_str());
    for (const Probe& probe : parts->program.probes) {
      VerifiedProbe verified;
      verified.operations_ = probe.operations;
      verified.int_constants_ = parts->program.int_constants.data();
      verified.float_constants_ = parts->program.float_constants.data();
      verified.texts_ = parts->texts.data();
      verified.place_ = &probe.place;
      verified.index_ = static_cast<uint32_t>(parts->probes.size());
      if (Status status = VerifyProbe(parts->program, probe, &verified); !status.ok()) return status;
      parts->probes.push_back(verified);
    }
    return VerifiedProgram(std::move(parts));
  }

 private:
  static Status Refuse(Position position, const std::string& reason) {
    return Status(StatusCode::kInvalid,
                  std::to_string(position.line) + ':' + std::to_string(position.column) + ": " + reason);
  }

  static Status VerifyProbe(const Program& program, const Probe& probe, VerifiedProbe* verified) {
    if (std::string reason = CheckPlace(probe.place); !reason.empty()) return Refuse(probe.position, reason);
    const size_t count = probe.operations.size();
    if (count == 0 || count > kMaxOperations || probe.positions.size() != count) {
      return Refuse(probe.position, "a probe has 1 to " + std::to_string(kMaxOperations) +
                                        " operations; this one has " + std::to_string(count));
    }
    std::vector<std::optional<Way>> ways(count);
    ways[0] = Way{};
    for (size_t at = 0; at < count; ++at) {
      const auto refuse = [&](const std::string& reason) {
        return Refuse(probe.positions[at], "operation " + std::to_string(at) + " (" +
                                               NameOf(probe.operations[at].code) + ") " + reason);
      };
      if (!ways[at].has_value()) return refuse("is never reached");
      OperationCheck check{.program = program, .place = probe.place, .index = at, .count = count};
      Way way = *ways[at];
      if (std::string reason = check.Check(probe.operations[at], &way.types); !reason.empty())
        return refuse(reason);
      verified->needs_ |= check.needs;
      way.cost_ns += check.cost_ns;
      way.operations += 1;
      if (way.cost_ns > kMaxHitCostNs) {
        return refuse("makes a hit take up to " + std::to_string(way.cost_ns) + " ns; the most is " +
                      std::to_string(kMaxHitCostNs));
      }
      verified->cost_ns_ = std::max(verified->cost_ns_, way.cost_ns);
      verified->most_operations_ = std::max(verified->most_operations_, way.operations);
      if (check.target.has_value()) Join(way, &ways[*check.target]);
      if (!check.goes_on) continue;
      if (at + 1 == count) return refuse("is the last one: a probe ends with End");
      Join(way, &ways[at + 1]);
    }
    return Status();
  }
};

Result<VerifiedProgram> Verify(Program program) { return Verifier::Run(std::move(program)); }

}  // namespace lagwatch::probe
