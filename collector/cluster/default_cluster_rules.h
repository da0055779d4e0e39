// SPDX-License-Identifier: Apache-2.0
// The text of policies/cluster_rules/*.txt, built into the program. Context: background.
#pragma once

#include <string_view>

namespace lagwatch::collector {

std::string_view DefaultClusterRules();

}  // namespace lagwatch::collector
