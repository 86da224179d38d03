#include "network.hpp"

#include <algorithm>

namespace latentree {
namespace {

std::vector<double> normalised(const double* joint, Index rows, Index columns, bool transposed) {
  std::vector<double> out(std::size_t(rows) * columns);
  for (Index r = 0; r < rows; ++r) {
    double sum = 0.0;
    double* to = out.data() + std::size_t(r) * columns;
    for (Index c = 0; c < columns; ++c)
      sum += to[c] = transposed ? joint[std::size_t(c) * rows + r] : joint[std::size_t(r) * columns + c];
    for (Index c = 0; c < columns; ++c) to[c] = sum > 0.0 ? to[c] / sum : 1.0 / columns;
  }
  return out;
}

}  // namespace

const std::vector<double>& Network::conditional(Index v, Index u) const {
  const Indices& around = neighbours[u];
  return given[u][std::lower_bound(around.begin(), around.end(), v) - around.begin()];
}

Network make_network(Index n_manifest, Indices states, std::vector<std::vector<double>> marginal,
                     const std::vector<Edge>& edges) {
  Network out;
  out.n_manifest = n_manifest;
  out.states = std::move(states);
  out.marginal = std::move(marginal);
  const std::size_t n = out.states.size();
  out.neighbours.resize(n);
  out.given.resize(n);
  for (const Edge& e : edges) {
    out.neighbours[e.a].push_back(e.b);
    out.neighbours[e.b].push_back(e.a);
  }
  for (std::size_t v = 0; v < n; ++v) {
    std::sort(out.neighbours[v].begin(), out.neighbours[v].end());
    out.given[v].resize(out.neighbours[v].size());
  }
  auto place = [&](Index v, Index u) -> std::vector<double>& {
    const Indices& around = out.neighbours[u];
    return out.given[u][std::lower_bound(around.begin(), around.end(), v) - around.begin()];
  };
  for (const Edge& e : edges) {
    place(e.b, e.a) = normalised(e.joint, out.states[e.a], out.states[e.b], false);
    place(e.a, e.b) = normalised(e.joint, out.states[e.b], out.states[e.a], true);
  }
  return out;
}

}  // namespace latentree
