// What the neighbours of a latent share beyond it, in data completed by the current model.
#pragma once
#include <vector>

#include "beliefs.hpp"

namespace latentree {

// Expected counts of a latent and two of its neighbours: N P^(a, b, c) [Zhang2004, 4.2], as [a][b][c].
std::vector<double> triple_counts(const Beliefs& beliefs, Index a, Index b, Index c);

// The information that the i-th neighbour of a shares with each later one given a, times the weight of the data:
// [last - first][neighbours], zero where j <= i.
std::vector<double> dependence(const Beliefs& beliefs, Index a, std::size_t first, std::size_t last);

}  // namespace latentree
