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

// Numbering of the distinct pairs (a[i], b[i]), in the order of (a, b).
struct Numbering {
  Indices id;  // per row
  Index count = 0;
};
Numbering number_pairs(const Indices& a, Index na, const Indices& b, Index nb);

// Likelihoods of a node's states, row by row, as few as serve the purpose.
struct Alike {
  std::vector<Index> ids;          // which of the distinct rows each row is, numbered as they come
  std::vector<double> likelihood;  // [distinct rows][states]
  std::vector<double> scale;       // [rows]: logarithm of what each row was divided by
};

// Rows of log-likelihoods, [states][rows], that round to the same multiples of `step`, the largest entry being zero.
// The first of those that are alike stands for all.
Alike alike_rows(const double* logs, std::size_t rows, std::size_t states, double step);

// Rows whose square roots of probabilities, taken as distributions over the states, lie in the same cell of this width:
// that is where merging them loses about as little wherever they lie (Hellinger distance). Their mean stands for them.
Alike similar_rows(const double* logs, const double* weights, std::size_t rows, std::size_t states, double width);

}  // namespace latentree
