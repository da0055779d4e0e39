// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "collector/store/clickhouse/server/connection.h"

namespace lagwatch::collector {

bool IsRefusalForGood(long status, int code) {
  // By the names of ClickHouse's ErrorCodes.cpp.
  static constexpr int kCodes[] = {
      6,    // CANNOT_PARSE_TEXT
      7,    // INCORRECT_NUMBER_OF_COLUMNS
      8,    // THERE_IS_NO_COLUMN
      9,    // SIZES_OF_COLUMNS_DOESNT_MATCH
      10,   // NOT_FOUND_COLUMN_IN_BLOCK
      16,   // NO_SUCH_COLUMN_IN_TABLE
      20,   // NUMBER_OF_COLUMNS_DOESNT_MATCH
      25,   // CANNOT_PARSE_ESCAPE_SEQUENCE
      26,   // CANNOT_PARSE_QUOTED_STRING
      27,   // CANNOT_PARSE_INPUT_ASSERTION_FAILED
      33,   // CANNOT_READ_ALL_DATA
      38,   // CANNOT_PARSE_DATE
      41,   // CANNOT_PARSE_DATETIME
      43,   // ILLEGAL_TYPE_OF_ARGUMENT
      44,   // ILLEGAL_COLUMN
      47,   // UNKNOWN_IDENTIFIER
      50,   // UNKNOWN_TYPE
      53,   // TYPE_MISMATCH
      69,   // ARGUMENT_OUT_OF_BOUND
      70,   // CANNOT_CONVERT_TYPE
      72,   // CANNOT_PARSE_NUMBER
      117,  // INCORRECT_DATA
      128,  // TOO_LARGE_ARRAY_SIZE
      131,  // TOO_LARGE_STRING_SIZE
      158,  // TOO_MANY_ROWS
      171,  // BLOCKS_HAVE_DIFFERENT_STRUCTURE
      190,  // SIZES_OF_ARRAYS_DOESNT_MATCH
      307,  // TOO_MANY_BYTES
      321,  // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
      349,  // CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
      376,  // CANNOT_PARSE_UUID
      395,  // FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
      396,  // TOO_MANY_ROWS_OR_BYTES
      467,  // CANNOT_PARSE_BOOL
      469,  // VIOLATED_CONSTRAINT
  };
  if (code != 0) return std::ranges::find(kCodes, code) != std::end(kCodes);
  return status == 400 || status == 413 || status == 422;
}

}  // namespace lagwatch::collector
