// SPDX-License-Identifier: Apache-2.0
// Decides which refusals of ClickHouse no retry can mend. Context: background; pure.
#pragma once

namespace lagwatch::collector {

// `status` is HTTP's, `code` the number of the server's exception, 0 when the answer names none (then it is a
// proxy's, or of a server that could not read the request). True only for what is wrong with the rows that
// were sent, or with their table's columns: a wrong password, a table that is missing, a server that is
// read-only or has too many parts are errors of all rows, and rows wait until a person has mended them.
bool IsRefusalForGood(long status, int code);

}  // namespace lagwatch::collector
