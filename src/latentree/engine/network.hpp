// An unrooted tree with probabilities: P(v) of every node, and P(v | u) both ways along every edge.
#pragma once
#include <vector>

#include "plan.hpp"

namespace latentree {

struct Network {
  Index n_manifest = 0;                                 // these come first, and are leaves
  std::vector<Indices> neighbours;                      // of each node, ascending
  Indices states;                                       // of each node
  std::vector<std::vector<double>> marginal;            // [node][state]
  std::vector<std::vector<std::vector<double>>> given;  // [u][j]: P(j-th neighbour of u | u), [states of u][its states]

  Index n_nodes() const { return static_cast<Index>(states.size()); }
  bool is_latent(Index v) const { return v >= n_manifest; }
  const std::vector<double>& conditional(Index v, Index u) const;  // P(v | u) of two neighbours
};

// One joint table for each edge (a, b), a < b: [states of a][states of b]. Rows of states that never occur are uniform.
struct Edge {
  Index a, b;
  const double* joint;
};
Network make_network(Index n_manifest, Indices states, std::vector<std::vector<double>> marginal,
                     const std::vector<Edge>& edges);

}  // namespace latentree
