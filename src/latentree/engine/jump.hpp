// What the two forms of reversible jump share.
#pragma once
#include <limits>
#include <vector>

#include "sampler.hpp"

namespace latentree {

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

// One component (*) on one side, two on the other, and what leads from it to them.
struct Sampler::Split {
  int j1 = 0, j2 = 0;                      // where the two are (combine), or where the one is (split: both)
  double log_u = 0.0, log_v = 0.0;         // ln u1 and ln (1 - u1)
  double log_p = 0.0;                      // ln p*
  std::vector<double> one, first, second;  // ln theta*, ln theta1, ln theta2
};

}  // namespace latentree
