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

// Log-likelihoods of a node's states, row by row: which rows are alike when the largest entry of each is zero.
struct Alike {
  std::vector<Index> ids;          // which of the distinct rows each row is, numbered as they come
  std::vector<double> likelihood;  // [distinct rows][states]: the first of those that are alike
  std::vector<double> scale;       // [rows]: the largest entry
};
// Rows whose entries round to the same multiples of `step` are alike.
Alike alike_rows(const double* logs, std::size_t rows, std::size_t states, double step);

}  // namespace latentree
