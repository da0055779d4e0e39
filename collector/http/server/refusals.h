// SPDX-License-Identifier: Apache-2.0
// The answers to keys without access. Context: background; pure.
#pragma once

#include "collector/http/server/endpoint.h"
#include "collector/keys/key_ring.h"
#include "collector/query/response.h"

namespace lagwatch::collector {

// To a key that is not known, any more or at all; `place` is where it should have been.
Response NeedsAKey(const KeyCheck& check, KeyPlace place);
// To one that is known, and may do other things.
Response MayNot(const KeyRecord& key);
// The answer to uploads that cannot be stored for now, because the disk is full.
Response NoRoom(const base::Status& room);
Response TooManyRequests(const QuotaRefusal& refusal, KeyPlace place);

}  // namespace lagwatch::collector
