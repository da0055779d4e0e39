// SPDX-License-Identifier: Apache-2.0
// The values of methods of Java: objects are a number and a text each.
#include "probe/compile/values.h"

namespace lagwatch::probe {

std::optional<Value> ValueCompiler::JavaValue(const Expression& expression, bool is_text, uint8_t to) {
  const std::string& name = expression.text;
  if (!names_.place.is_java || expression.kind != Expression::Kind::kName || names_.variables.contains(name))
    return std::nullopt;
  const auto value_of = [&](OperationCode code, size_t number, bool has_text) {
    emitter_.Emit(expression.position, {.code = code, .to = to, .number = static_cast<int32_t>(number)});
    if (!has_text) return Value{.shown = Shown::kHex};
    emitter_.Emit(expression.position, {.code = OperationCode::kAsText, .to = to, .a = to});
    return Value{.type = RegisterType::kText, .shown = Shown::kText};
  };
  const auto is_declared_text = [](const TypePointer& type) { return type != nullptr && IsCString(*type); };
  if (name == "this")
    return value_of(OperationCode::kReadArgument, is_text ? kJavaThisText : kJavaThis, is_text);
  if (name == "returned" && (At(names_.place.kind) & kWithReturned) != 0) {
    const bool has_text = is_text || (names_.signature && is_declared_text(names_.signature->result));
    if (!has_text) return std::nullopt;
    return value_of(OperationCode::kReadReturned, kJavaReturnedText, true);
  }
  const std::vector<Parameter> none;
  const std::vector<Parameter>& parameters = names_.signature ? names_.signature->parameters : none;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name != name || names_.arguments.parameters[i].empty()) continue;
    const ArgumentPiece& piece = names_.arguments.parameters[i].front();
    const bool is_whole = piece.kind != ArgumentPiece::Kind::kFloat && piece.index < kJavaNumbers &&
                          piece.kind != ArgumentPiece::Kind::kStack;
    if (!is_whole || !(is_text || is_declared_text(parameters[i].type))) return std::nullopt;
    return value_of(OperationCode::kReadArgument, kJavaNumbers + piece.index, true);
  }
  const bool is_raw =
      is_text && name.size() == 4 && name.starts_with("arg") && name[3] >= '0' && name[3] <= '5';
  if (!is_raw) return std::nullopt;
  return value_of(OperationCode::kReadArgument, kJavaNumbers + static_cast<size_t>(name[3] - '0'), true);
}

}  // namespace lagwatch::probe
