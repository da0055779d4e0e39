// SPDX-License-Identifier: Apache-2.0
// The parts of the parser: each takes what it is named after from the tokens; after an error its result is of
// no use. Context: background.
#pragma once

#include <vector>

#include "probe/language/token_stream.h"
#include "probe/language/tree.h"

namespace lagwatch::probe {

ExpressionPointer TakeExpression(TokenStream* tokens);
// As C declares a parameter or a member: a type and, unless it is left out, a name.
DeclaredParameter TakeDeclaration(TokenStream* tokens);
TypeName TakeType(TokenStream* tokens);
// From a `{` to its `}`.
std::vector<Action> TakeActions(TokenStream* tokens);
// From its first token to what follows it: "@", a modifier or a block.
void TakePlace(TokenStream* tokens, ProbeTree* probe);
// The word after "@"; none if the place has no such kinds.
void TakeKind(TokenStream* tokens, ProbeTree* probe);

}  // namespace lagwatch::probe
