// Expected counts of a latent node and two of its neighbours in data completed by the current model.
#pragma once
#include <vector>

#include "plan.hpp"

namespace latentree {

// What the rows say about a neighbour of the node: values (-1: missing), or likelihoods of its states.
struct Neighbour {
  const std::int16_t* values;  // [rows], or null
  const double* likelihood;    // [rows][states], or null
  const double* given;         // P(neighbour | node): [states of the node][states]
  Index states;
};

// The node itself: weight times P(state | row), [rows][states].
struct Centre {
  const double* posterior;
  Index rows, states;
};

// Counts of (neighbour, neighbour, node): [states][states][states of the node].
std::vector<double> triple_counts(const Centre& centre, const Neighbour& b, const Neighbour& c);

// The information that neighbour i shares with each later one given the node, times the weight of the data.
// [last - first][n], zero where j <= i.
std::vector<double> dependence(const Centre& centre, const std::vector<Neighbour>& neighbours, std::size_t first,
                               std::size_t last, int threads);

}  // namespace latentree
