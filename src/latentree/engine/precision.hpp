// Where numbers become too small to be trusted, in one place.
#pragma once
#include <limits>

namespace latentree {

constexpr double kTiny = std::numeric_limits<double>::min();  // added to a divisor: 0 / 0 counts as 0
constexpr double kRefuse = 1e-200;     // rows with a smaller probability are redone in logarithms
constexpr double kUnderflow = 1e-300;  // what an entry may lose when a product underflows
constexpr double kLostShare = 1e-20;   // and the share of a row's probability this may be

}  // namespace latentree
