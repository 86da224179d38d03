// Distinct rows of a table of small codes.
#pragma once
#include <cstdint>
#include <vector>

#include "plan.hpp"

namespace latentree {

struct Distinct {
  Indices inverse;                  // row -> pattern; patterns are numbered as they first appear
  std::vector<std::int64_t> first;  // pattern -> its first row
};

// Rows of columns, each a contiguous array of `n_rows` codes from -1 to its number of states less one.
Distinct distinct_rows(const std::vector<const std::int16_t*>& columns, const std::vector<Index>& states,
                       std::int64_t n_rows);

}  // namespace latentree
